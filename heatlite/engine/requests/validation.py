"""Is a definition right? All complaints at once: the language's, and through it what the types themselves say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from heatlite.common import exception, policy
from heatlite.common.context import RequestContext
from heatlite.engine.types import tree_size
from heatlite.engine.types.catalog import Catalog
from heatlite.engine.types.draft import Draft
from heatlite.engine.types.registry import Registry
from heatlite.language import describe, lint
from heatlite.language.definition import StackDefinition
from heatlite.rpc import messages


def check_child(definition: StackDefinition, registry: Registry, context: RequestContext) -> None:
    """As `check_request`, for a nested stack that is about to be made or changed.

    What it has inside was looked at when the whole tree was asked for, and will be again when its time comes.
    """
    with without_hidden_values(definition):
        lint.raise_first(lint.check(definition, _catalog(definition, registry, context), look_inside=False))


def check_request(definition: StackDefinition, registry: Registry, context: RequestContext, *,
                  updating: bool = False) -> None:
    """Raises the error clients know, with all other complaints behind its first line. Raises Forbidden when the caller
    may not use a type, in nested stacks too."""
    with without_hidden_values(definition):
        catalog = _catalog(definition, registry, context)
        diagnostics = lint.check(definition, catalog, updating=updating)
        if catalog.forbidden is not None:
            raise exception.Forbidden(action=policy.rule_of_type(catalog.forbidden))
        lint.raise_first(diagnostics)


@contextmanager
def without_hidden_values(definition: StackDefinition) -> Iterator[None]:
    """Errors quote the value that is wrong, and end in answers, logs and tickets: not that of a hidden parameter."""
    try:
        yield
    except exception.HeatException as error:
        if definition.mask:
            for name, value in vars(error).items():
                if isinstance(value, str | dict | list | tuple):
                    shown = definition.mask(value)
                    setattr(error, name, tuple(shown) if isinstance(value, tuple) else shown)
            error.args = tuple(definition.mask(each) for each in error.args)
            raise error from None               # what it came from has the value, too
        raise


def check_sizes(definition: StackDefinition, registry: Registry, context: RequestContext, quota: int,
                most: int) -> None:
    """Refuses what cannot fit: groups whose size is known now are counted with the resources of the stack.

    `quota`: of the whole tree; `most`: of one group. Raises RequestLimitExceeded. What is inside the members, and sizes
    that depend on resources, are counted when they are made.
    """
    total = len(definition.snippets)
    tree_size.check(total, quota)
    catalog = _catalog(definition, registry, context)
    for resource in definition.resources.values():
        size = catalog.size(resource)
        tree_size.check_members(size, quota, most)
        total += size
    tree_size.check(total, quota)


def check_rights(type_names: Iterable[str], registry: Registry, context: RequestContext) -> None:
    """Raises Forbidden unless the caller may use all types of a stack that exists."""
    for name in type_names:
        if not registry.allows(context, name):
            raise exception.Forbidden(action=policy.rule_of_type(name))


def check_immutable(old: StackDefinition, new: StackDefinition) -> None:
    """Raises ImmutableParameterModified (template specification 3.8)."""
    with without_hidden_values(new):
        changed = new.parameters.changed_immutables(old.parameters)
    if changed:
        raise exception.ImmutableParameterModified(*changed)


def checker(definition: StackDefinition, registry: Registry, context: RequestContext) -> tuple[lint.Checker, Catalog]:
    """One that has not looked yet, and the types it asks."""
    types = _catalog(definition, registry, context)
    return lint.Checker(definition, types, values=False, look_inside=False), types


def described(definition: StackDefinition, registry: Registry, context: RequestContext,
              message: messages.ValidateTemplate) -> dict[str, Any]:
    """The answer of POST /validate; values need not be given and are not checked.

    What goes wrong inside is the caller's bad request, under that name; other errors keep theirs.
    """
    catalog = _catalog(definition, registry, context)
    return describe.validation_answer(definition, catalog, show_nested=message.show_nested,
                                      ignored=frozenset(message.ignore_errors))


def _catalog(definition: StackDefinition, registry: Registry, context: RequestContext) -> Catalog:
    draft = Draft(definition, context, registry)
    return Catalog(registry, context, draft.make)
