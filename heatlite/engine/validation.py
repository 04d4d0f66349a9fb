"""Is a definition right? All complaints at once: the language's, and through it what the types themselves say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from oslo_config import cfg

from heatlite.common import exception, policy
from heatlite.common.context import RequestContext
from heatlite.engine import clients, rsrc_defn, tree_size
from heatlite.engine.registry import Registry
from heatlite.engine.resource import Resource
from heatlite.engine.type_catalog import Catalog
from heatlite.language import describe, lint
from heatlite.language.definition import ResourceDefinition, StackDefinition
from heatlite.language.expression import PLACEHOLDERS
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
        complaints = lint.check(definition, catalog, updating=updating)
        if catalog.forbidden is not None:
            raise exception.Forbidden(action=policy.rule_of_type(catalog.forbidden))
        lint.raise_first(complaints)


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


class Draft:
    """The stack that types see while it is only checked: nothing of it exists."""

    convergence = True
    action, status = 'CREATE', 'IN_PROGRESS'

    def __init__(self, definition: StackDefinition, context: RequestContext, registry: Registry, *,
                 strict: bool = True) -> None:
        self.definition = self.defn = definition
        self.strict_validate = strict               # nested stacks are checked without values, until they are made
        self._nested: dict[int, Draft] = {}
        self.context = context
        self.name = definition.identity.name
        self.id = definition.identity.id
        self.t = definition.template
        self.env = definition.environment
        self._registry = registry

    @property
    def parameters(self) -> Any:
        return self.definition.parameters

    @property
    def clients(self) -> Any:
        return clients.of(self.context)

    def check_room(self, resource: Any, count: int) -> None:
        """Nothing is built here; previews count what they show (engine.draft_stack)."""

    def timeout_secs(self) -> int:
        """The default: how long the user will wait is stored with the stack, and this one is not stored."""
        return int(cfg.CONF.stack_action_timeout)

    def make(self, kind: type[Resource], wanted: ResourceDefinition) -> Resource:
        """An object of the type that is only asked. Values that depend on what does not exist yet are deferred."""
        if wanted.owner is not self.definition:
            return self._of(wanted.owner).make(kind, wanted)
        return kind(wanted.name, rsrc_defn.ResourceDefinition(
            wanted.name, wanted.type, wanted.guessed_properties(), _guessed(wanted.metadata, {}),
            list(wanted.depends_on), wanted.deletion_policy, _guessed(wanted.update_policy, {}), wanted.description,
            _guessed(wanted.external_id, None), requires=wanted.requires, deferred=frozenset(wanted.referring)), self)

    def _of(self, definition: StackDefinition) -> Draft:
        if id(definition) not in self._nested:
            self._nested[id(definition)] = Draft(definition, self.context, self._registry, strict=False)
        return self._nested[id(definition)]

    def __getitem__(self, name: str) -> Resource:
        wanted = self.definition.resources[name]
        return self.make(self._registry.resolve(wanted.type, name, self.env), wanted)

    def __iter__(self) -> Any:
        return iter(self.definition.resources)

    def __contains__(self, name: object) -> bool:
        return name in self.definition.resources

    def __len__(self) -> int:
        return len(self.definition.resources)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default              # noqa: SIM401 - this is that method

    def keys(self) -> Any:
        return self.definition.resources.keys()

    def values(self) -> Any:
        return [self[name] for name in self]

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    itervalues, iteritems = values, items

    @property
    def resources(self) -> Any:
        return self

    def has_made(self, physical_id: str, name: str) -> bool:
        """Nothing is made yet."""
        return False

    def resource_by_refid(self, refid: Any) -> Resource | None:
        """Before they exist, resources are referred to by their names."""
        return self.get(refid) if isinstance(refid, str) else None


def _guessed(part: Callable[[Any], Any], otherwise: Any) -> Any:
    """What cannot be evaluated is told by the check, or, for metadata, when the resource is made."""
    try:
        return part(PLACEHOLDERS)
    except Exception:                               # functions of the template may raise anything
        return otherwise
