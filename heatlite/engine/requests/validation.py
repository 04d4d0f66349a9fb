"""Validates definitions: reports all diagnostics at once, those of the language and those of the resource types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from heatlite.common import exception, policy, turns
from heatlite.common.context import RequestContext
from heatlite.engine.clients import constraint_cache
from heatlite.engine.durability import fence
from heatlite.engine.types import tree_size
from heatlite.engine.types.catalog import Catalog
from heatlite.engine.types.draft import DraftStack
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import describe, lint, plain
from heatlite.language.definition import StackDefinition
from heatlite.rpc import messages

STEPS_PER_RESOURCE = 1              # of `turns`, for the type of one resource


def check_child(definition: StackDefinition, registry: TypeRegistry, context: RequestContext,
                same: frozenset[str] = frozenset(), timeout_mins: int | None = None,
                before: StackDefinition | None = None) -> None:
    """As `check_request`, for a nested stack that is about to be created or updated.

    Stacks inside it are checked before they are created. It may be one that no request could see: its template, or the
    types in it, depend on attributes, or come from a server.
    """
    _check(definition, registry, context, same, look_inside=False, timeout_mins=timeout_mins, before=before)


def check_request(definition: StackDefinition, registry: TypeRegistry, context: RequestContext, *,
                  updating: bool = False, same: frozenset[str] = frozenset(), timeout_mins: int | None = None,
                  before: StackDefinition | None = None) -> None:
    """Raise the first error as Heat would, with all other diagnostics after its first line. Raises Forbidden if the
    caller may not use a type, also in nested stacks.

    `same`: resources that were found right in another definition, and that this one shares with it; `timeout_mins`: the
    time-out that the stack will have; `before`: the definition that an update replaces."""
    _check_types_first(definition, registry, context)
    _check(definition, registry, context, same, updating=updating, timeout_mins=timeout_mins, before=before)


def _check(definition: StackDefinition, registry: TypeRegistry, context: RequestContext, same: frozenset[str], *,
           look_inside: bool = True, updating: bool = False, timeout_mins: int | None = None,
           before: StackDefinition | None = None) -> None:
    with without_hidden_values(definition):
        catalog = _catalog(definition, registry, context, timeout_mins)
        catalog.before = before
        definition.plain = _right(definition, registry, context, same)
        diagnostics = lint.check(definition, catalog, look_inside=look_inside, updating=updating,
                                 right=definition.plain)
        if catalog.forbidden is not None:
            raise exception.Forbidden(action=policy.rule_of_type(catalog.forbidden))
        lint.raise_first(diagnostics)


def _check_types_first(definition: StackDefinition, registry: TypeRegistry, context: RequestContext) -> None:
    """Raise Forbidden if the caller may not use a type of the stack, before values are judged and services asked.

    The check of the definition finds the other types: of nested stacks, and of resources with conditions, which may
    depend on wrong values. It reports types that do not exist.
    """
    known: set[object] = set()
    keys, environment = definition.keys, definition.environment
    try:
        snippets = definition.snippets
    except exception.StackValidationFailed:
        return
    for name, snippet in turns.paced(snippets.items(), STEPS_PER_RESOURCE):
        type_name = snippet.get(keys.type) if isinstance(snippet, Mapping) and keys.condition not in snippet else None
        key = (type_name, name) if environment.registry.is_by_resource else type_name
        if not isinstance(type_name, str) or key in known:
            continue
        known.add(key)
        with suppress(exception.StackValidationFailed):
            if not registry.allows_wanted(context, type_name, name, environment):
                raise exception.Forbidden(action=policy.rule_of_type(type_name))


def _right(definition: StackDefinition, registry: TypeRegistry, context: RequestContext,
           same: frozenset[str]) -> frozenset[str]:
    """Return which of the resources `same` need no check; none if the caller may not use a type of theirs."""
    if not same:
        return same
    catalog = _catalog(definition, registry, context)

    def is_plain(type_name: str) -> bool:
        environment = definition.environment
        try:
            return not environment.find(type_name).is_template and plain.is_plain_type(
                catalog.facts(type_name, None, environment))
        except exception.HeatException:
            return False

    found = plain.find(definition, same, is_plain)
    return frozenset() if catalog.forbidden is not None else found


def check_moved(definition: StackDefinition, registry: TypeRegistry, context: RequestContext) -> None:
    """As `check_request`, for a definition whose values are those of resources that exist: asks no service. Raises the
    first error, and Forbidden."""
    with without_hidden_values(definition):
        catalog = _catalog(definition, registry, context)
        catalog.asks = False
        catalog.lookup = constraint_cache.lookup(registry.constraint, context, lambda value: True)
        diagnostics = fence.without_requests(lambda: lint.check(definition, catalog, values=False, updating=True))
        if catalog.forbidden is not None:
            raise exception.Forbidden(action=policy.rule_of_type(catalog.forbidden))
        lint.raise_first(diagnostics)


def check_types(definition: StackDefinition, registry: TypeRegistry, context: RequestContext) -> None:
    """Raise Forbidden if the caller may not use a type of a definition that was accepted before, also in nested stacks.
    Judges no values and asks no service; other errors are left to the action."""
    _check_types_first(definition, registry, context)
    with without_hidden_values(definition):
        catalog = _catalog(definition, registry, context)
        catalog.asks = False
        catalog.lookup = constraint_cache.lookup(registry.constraint, context, lambda value: True)
        fence.without_requests(lambda: lint.check(definition, catalog, values=False, updating=True))
    if catalog.forbidden is not None:
        raise exception.Forbidden(action=policy.rule_of_type(catalog.forbidden))


@contextmanager
def without_hidden_values(definition: StackDefinition) -> Iterator[None]:
    """Mask the values of hidden parameters in errors: errors quote wrong values, and appear in answers and logs."""
    try:
        yield
    except exception.HeatException as error:
        if definition.mask:
            for name, value in vars(error).items():
                if isinstance(value, tuple):
                    setattr(error, name, tuple(definition.mask(value)))
                elif isinstance(value, str | dict | list):
                    setattr(error, name, definition.mask(value))
            error.args = tuple(definition.mask(each) for each in error.args)
            raise error from None               # its cause has the value, too
        raise


def check_sizes(definition: StackDefinition, registry: TypeRegistry, context: RequestContext, quota: int,
                most: int) -> None:
    """Check the resources of a stack, with the members of groups whose size is known, against the limits.

    `quota`: for the whole tree; `most`: for one group. Raises RequestLimitExceeded. Stacks inside the members, and
    groups whose size depends on resources, are counted when they are created.
    """
    total = len(definition.snippets)
    tree_size.check(total, quota)
    catalog = _catalog(definition, registry, context)
    for names in definition.names_by_type.values():
        for name in names:
            resource = definition.resources[name]
            size = catalog.size(resource)
            tree_size.check_members(size, quota, most)
            total += size
            if catalog.is_sizeless(resource):
                break
    tree_size.check(total, quota)


def check_rights(type_names: Iterable[str], registry: TypeRegistry, context: RequestContext) -> None:
    """Raise Forbidden unless the caller may use all these types of an existing stack."""
    for name in type_names:
        if not registry.allows(context, name):
            raise exception.Forbidden(action=policy.rule_of_type(name))


def has_external(definition: StackDefinition) -> bool:
    """Whether a resource may have an `external_id`, as far as the text says."""
    key = definition.keys.external_id
    return any(isinstance(snippet, Mapping) and key in snippet for snippet in definition.snippets.values())


def check_immutable(old: StackDefinition, new: StackDefinition, *, is_nested: bool = False) -> None:
    """Raise ImmutableParameterModified if an immutable parameter changed.

    `is_nested`: the values come from properties of a resource, as texts. Source: docs/spec/templates.rst, "Immutable
    parameters".
    """
    with without_hidden_values(new):
        changed = new.parameters.changed_immutables(old.parameters, as_given=not is_nested)
    if changed:
        raise exception.ImmutableParameterModified(*changed)


def checker(definition: StackDefinition, registry: TypeRegistry,
            context: RequestContext) -> tuple[lint.Checker, Catalog]:
    """Return a new checker of the definition, and the catalog of types that it uses."""
    types = _catalog(definition, registry, context)
    return lint.Checker(definition, types, values=False, look_inside=False), types


def described(definition: StackDefinition, registry: TypeRegistry, context: RequestContext,
              message: messages.ValidateTemplate, quota: int) -> dict[str, object]:
    """Return the answer of POST /validate. Parameter values may be missing and are not checked.

    `quota`: the most resources in a tree whose nested stacks are shown, or UNLIMITED. Raises HTTPBadRequest for an
    invalid template, StackResourceLimitExceeded; other errors pass through.
    """
    catalog = _catalog(definition, registry, context)
    return describe.validation_answer(definition, catalog, show_nested=message.show_nested,
                                      ignored=frozenset(message.ignore_errors), take=tree_size.counter(quota))


def _catalog(definition: StackDefinition, registry: TypeRegistry, context: RequestContext,
             timeout_mins: int | None = None) -> Catalog:
    draft = DraftStack(definition, context, registry, timeout_mins=timeout_mins)
    return Catalog(registry, context, draft.make)
