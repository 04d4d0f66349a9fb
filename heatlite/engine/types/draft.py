"""The stack that resource types see while a definition is validated: nothing of it exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView
from typing import TypeVar

from heatlite.common.context import RequestContext
from heatlite.engine import clients, rsrc_defn
from heatlite.engine.compat.stack_template import StackTemplate
from heatlite.engine.resource import Resource
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import DefinedResource, StackDefinition
from heatlite.language.expression import PLACEHOLDERS, Scope
from heatlite.language.parameters import Parameters
from heatlite.language.unknown import UNKNOWN, is_known
from heatlite.planning.timeouts import action_seconds

S = TypeVar('S')
T = TypeVar('T')


class DraftStack:
    """Stands for the stack while its definition is validated; offers the reading part of the facade."""

    convergence = True
    action, status = 'CREATE', 'IN_PROGRESS'

    def __init__(self, definition: StackDefinition, context: RequestContext, registry: TypeRegistry, *,
                 strict: bool = True, timeout_mins: int | None = None) -> None:
        """`timeout_mins`: that the stack will have; None: the default."""
        self.definition = self.defn = definition
        self.strict_validate = strict               # nested stacks are validated without values until their creation
        self._nested: dict[int, DraftStack] = {}
        self.context = context
        self.name = definition.identity.name
        self.id = definition.identity.id
        self.t = StackTemplate(definition)
        self.env = definition.environment
        self._registry = registry
        self._timeout_mins = timeout_mins

    @property
    def parameters(self) -> Parameters:
        return self.definition.parameters

    @property
    def clients(self) -> clients.OpenStackClients:
        return clients.of(self.context)

    def check_room(self, resource: object, count: int) -> None:
        """Do nothing: no member is built here. Previews count the resources they show (requests.preview_create)."""

    def timeout_secs(self) -> int:
        """Return the seconds that an action may take."""
        return action_seconds(self._timeout_mins, self._registry.action_timeout)

    def make(self, resource_class: type[Resource], definition: DefinedResource) -> Resource:
        """Make an object of the type for queries only. Values that are unknown, or depend on other resources, are
        deferred; types see null for what they have no value of, as checks ask whether there is one."""
        if definition.owner is not self.definition:
            return self._of(definition.owner).make(resource_class, definition)
        given = definition.guessed_properties()
        deferred = frozenset(definition.referring) | {name for name, value in given.items() if not is_known(value)}
        shown = {name: None if value is UNKNOWN else value for name, value in given.items()}
        return resource_class(definition.name, rsrc_defn.ResourceDefinition(
            definition.name, definition.type, shown, _guessed(definition.metadata, {}),
            list(definition.depends_on), definition.deletion_policy, _guessed(definition.update_policy, {}),
            definition.description, _guessed(definition.external_id, None), requires=definition.requires,
            deferred=deferred), self)

    def _of(self, definition: StackDefinition) -> DraftStack:
        if id(definition) not in self._nested:
            self._nested[id(definition)] = DraftStack(definition, self.context, self._registry, strict=False,
                                                      timeout_mins=self._timeout_mins)
        return self._nested[id(definition)]

    def __getitem__(self, name: str) -> Resource:
        wanted = self.definition.resources[name]
        return self.make(self._registry.resolve(wanted.type, name, self.env), wanted)

    def __iter__(self) -> Iterator[str]:
        return iter(self.definition.resources)

    def __contains__(self, name: object) -> bool:
        return name in self.definition.resources

    def __len__(self) -> int:
        return len(self.definition.resources)

    def get(self, name: str, default: Resource | None = None) -> Resource | None:
        return self[name] if name in self else default              # noqa: SIM401 - this is that method

    def keys(self) -> KeysView[str]:
        return self.definition.resources.keys()

    def values(self) -> list[Resource]:
        return [self[name] for name in self]

    def items(self) -> list[tuple[str, Resource]]:
        return [(name, self[name]) for name in self]

    itervalues, iteritems = values, items

    @property
    def resources(self) -> DraftStack:
        return self

    def has_made(self, physical_id: str, name: str) -> bool:
        """Return False: no resource exists yet."""
        return False

    def resource_by_refid(self, refid: object) -> Resource | None:
        """Return the resource with that name: before it exists, the reference of a resource is its name."""
        return self.get(refid) if isinstance(refid, str) else None


def _guessed(part: Callable[[Scope], T], otherwise: S) -> T | S:
    """Evaluate `part`, or return `otherwise`: its error is reported by the check or, for metadata, at the creation."""
    try:
        return part(PLACEHOLDERS)
    except Exception:                               # functions of the template may raise anything
        return otherwise
