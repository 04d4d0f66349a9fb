"""The stack as plug-ins see it in `self.stack`: Heat's names, for reading only.

Source: docs/spec/plugins.rst, "The stack and the context".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, Protocol

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.common.runtime import Runtime
from heatlite.db.stacks import StoredStack
from heatlite.engine import function
from heatlite.engine.compat.stack_template import StackTemplate
from heatlite.engine.dependencies import Dependencies
from heatlite.engine.notify.notifications import Scaling
from heatlite.engine.reconcile.attribute_cache import REFERENCE, StackScope
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.outputs import PresentOutputs
from heatlite.engine.resource import Resource
from heatlite.engine.resource_services import AlarmUseCases, SoftwareConfigs
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.language.definition import StackDefinition
from heatlite.language.environment import Environment
from heatlite.language.outputs import OutputDefinition
from heatlite.language.parameters import Parameters
from heatlite.language.resource_definition import Facade
from heatlite.planning.states import Status
from heatlite.planning.timeouts import action_seconds

# (make(root stack), unmake(project)) -> the project of the users inside a tree of stacks.
MakeProject = Callable[[Callable[[str], str], Callable[[str], None]], str]

# States in which others may refer to a resource.
USABLE = frozenset({('INIT', 'COMPLETE'), ('CHECK', 'COMPLETE'),
                    *((action, status) for action in ('CREATE', 'RESUME', 'UPDATE')
                      for status in ('IN_PROGRESS', 'COMPLETE'))})


def was_begun_before(row: StoredStack) -> bool:
    """Whether the present action of a stack began before the backup was taken that the stack was restored from."""
    return row.restored_from is not None and (row.started_at or row.created_at) <= row.restored_from


class Clients(Protocol):
    """The clients of services that types use (`engine.clients.OpenStackClients`)."""

    def client(self, name: str, version: str | None = None) -> object: ...

    def client_plugin(self, name: str) -> Any: ...


class NestedAccess(Protocol):
    """The part of `engine.reconcile.nesting.Nesting` that this facade and the executor use."""

    def check_room(self, resource: Resource, count: int) -> None: ...

    def abandon(self, resource: Resource) -> object: ...

    def is_settled(self, stack_id: str, definition: ResourceDefinition) -> bool: ...

    def user_project(self) -> str | None: ...

    def set_user_project(self, project_id: str) -> None: ...

    def update_parent(self, mark: Callable[[], None]) -> object: ...


class ParentResource:
    """The resource that owns a nested stack, as far as its members may see it."""

    def __init__(self, outer: Facade) -> None:
        self._outer = outer
        self.name = outer.resource.name

    def metadata_get(self) -> object:
        return self._outer.part('metadata')


class Stack(Mapping[str, Resource]):
    """A mapping of the stack's resources. A lookup makes an object of the type from the stored state."""

    ACTIONS = (CREATE, DELETE, UPDATE, ROLLBACK, SUSPEND, RESUME, ADOPT, SNAPSHOT, CHECK, RESTORE) = (
        'CREATE', 'DELETE', 'UPDATE', 'ROLLBACK', 'SUSPEND', 'RESUME', 'ADOPT', 'SNAPSHOT', 'CHECK', 'RESTORE')
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ('IN_PROGRESS', 'FAILED', 'COMPLETE')
    convergence = True
    thread_group_mgr = None

    def __init__(self, leased: LeasedStack, make: Callable[[str], Resource],
                 clients: Callable[[RequestContext], Clients], runtime: Runtime, *,
                 scope: StackScope, nesting: NestedAccess, software: SoftwareConfigs, alarms: AlarmUseCases,
                 default_timeout: int, project: MakeProject | None = None,
                 tell_scaling: Callable[[Scaling], None] = lambda scaling: None) -> None:
        """`make(name)`: the object for a resource of that name; `scope`: the values of its resources for the template
        language; `default_timeout`: seconds, if the stack has no timeout of its own; `project(make, unmake)`: the
        project of users inside the whole tree of stacks; `tell_scaling`: sends to the message bus."""
        self.runtime = runtime
        self.scope = scope
        self.nesting = nesting
        self._leased = leased
        self._make = make
        self._clients = clients
        self._project = project
        self._default_timeout = default_timeout
        self._client_cache: tuple[RequestContext, Clients] | None = None
        self.resizing: set[str] = set()             # groups that a signal is resizing
        self.software = software
        self.alarms = alarms
        self.tell_scaling = tell_scaling
        self._referred: dict[str, str] = {}         # reference -> name

    def check_room(self, resource: Resource, count: int) -> None:
        """Raise RequestLimitExceeded unless the nested stack of `resource` may have `count` resources."""
        self.nesting.check_room(resource, count)

    # --- the stack itself -------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._leased.row.id

    @property
    def name(self) -> str:
        return self._leased.row.name

    @property
    def context(self) -> RequestContext:
        return self._leased.context

    @property
    def clients(self) -> Clients:
        context = self.context                  # another one after a newer request, perhaps of another user
        if self._client_cache is None or self._client_cache[0] is not context:
            self._client_cache = context, self._clients(context)
        return self._client_cache[1]

    @property
    def definition(self) -> StackDefinition:
        return self._leased.definition

    defn = definition

    @property
    def t(self) -> StackTemplate:
        return StackTemplate(self._leased.definition)

    @property
    def env(self) -> Environment:
        return self._leased.definition.environment

    @property
    def parameters(self) -> Parameters:
        return self._leased.definition.parameters

    @property
    def action(self) -> str:
        return self._leased.row.action

    @property
    def status(self) -> str:
        return self._leased.row.status

    @property
    def status_reason(self) -> str:
        return self._leased.row.reason

    @property
    def state(self) -> tuple[str, str]:
        return self.action, self.status

    @property
    def timeout_mins(self) -> int | None:
        return self._leased.row.timeout_mins

    def timeout_secs(self) -> int:
        return action_seconds(self.timeout_mins, self._default_timeout)

    def time_elapsed(self) -> float:
        """Return the seconds since the stack's action, or the last one, began."""
        row = self._leased.row
        return (self.runtime.now() - (row.started_at or row.created_at)).total_seconds()

    def time_remaining(self) -> float:
        """Return the seconds until the timeout of the action; negative after it."""
        return self.timeout_secs() - self.time_elapsed()

    def has_timed_out(self) -> bool:
        return self.status == self.IN_PROGRESS and self.time_remaining() < 0

    @property
    def disable_rollback(self) -> bool:
        return self._leased.row.disable_rollback

    @property
    def converge(self) -> bool:
        return self._leased.row.converge

    @property
    def tags(self) -> Sequence[str] | None:
        return self._leased.row.tags

    @property
    def created_time(self) -> datetime:
        return self._leased.row.created_at

    @property
    def restored_from(self) -> datetime | None:
        """When the backup was taken that the stack was restored from; None if it never was."""
        return self._leased.row.restored_from

    @property
    def updated_time(self) -> datetime | None:
        return self._leased.row.updated_at

    @property
    def nested_depth(self) -> int:
        return self._leased.row.depth

    @property
    def owner_id(self) -> str | None:
        return self._leased.row.owner_id

    @property
    def parent_resource_name(self) -> str | None:
        return self._leased.row.parent_resource

    @property
    def parent_resource(self) -> ParentResource | None:
        """The resource of the parent stack that owns this one; None for a root stack."""
        outer = self._leased.definition.outer
        return ParentResource(outer) if outer is not None else None

    @property
    def user_creds_id(self) -> str | None:
        """The id of the stored credentials that the tree of stacks acts with later; None if there are none."""
        return self._leased.row.credentials_id

    def requires_deferred_auth(self) -> bool:
        return any(resource.requires_deferred_auth for resource in self.values())

    @property
    def stack_user_project_id(self) -> str | None:
        known = self._leased.row.user_project_id
        if known is None and self._leased.row.owner_id is not None:
            known = self.nesting.user_project()
        return known

    def set_stack_user_project_id(self, project_id: str) -> None:
        """Store the Keystone project of the users inside the stack; one for the whole tree."""
        self._leased.users_are_in(project_id)
        self.nesting.set_user_project(project_id)

    def user_project(self, make: Callable[[str], str], unmake: Callable[[str], None]) -> str:
        """Return the project of the users inside this tree of stacks; makes it once, if there is none."""
        known = self._leased.row.user_project_id
        if known is not None or self._project is None:
            return str(known)
        return self._project(make, unmake)

    def register_access_allowed_handler(self, credential_id: object, handler: object) -> None:
        """Do nothing: the API finds the resource of a user by the data of the resources."""

    @property
    def strict_validate(self) -> bool:
        return self._leased.row.owner_id is None

    @property
    def outputs(self) -> Mapping[str, OutputDefinition]:
        return self._leased.definition.outputs

    def present_outputs(self) -> Mapping[str, Mapping[str, object]]:
        """Return the outputs as they are now: key -> as they are stored at the end of an action."""
        return PresentOutputs(self._leased.definition, self.scope.present())

    def root_stack_id(self) -> str:
        return self._leased.row.root_id

    def is_seen_by(self, context: RequestContext) -> bool:
        """Whether the caller of a request may see this stack."""
        row = self._leased.row
        return context.may_see(row.project_id, row.user_project_id)

    def identifier(self) -> HeatIdentifier:
        return HeatIdentifier(self._leased.row.project_id, self.name, self._leased.row.id)

    # --- its resources ----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Resource:
        if name not in self._leased.definition.resources:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._leased.definition.resources)

    def __len__(self) -> int:
        return len(self._leased.definition.resources)

    def __contains__(self, name: object) -> bool:
        return name in self._leased.definition.resources

    @property
    def resources(self) -> Mapping[str, Resource]:
        return self

    def itervalues(self) -> Iterator[Resource]:
        return iter(self.values())

    def iteritems(self) -> Iterator[tuple[str, Resource]]:
        return iter(self.items())

    def iter_resources(self, nested_depth: int = 0, filters: object = None) -> Iterator[Resource]:
        return iter(self.values())

    def resource_get(self, name: str) -> Resource | None:
        return self.get(name)

    def resource_by_refid(self, refid: object) -> Resource | None:
        """Return the usable resource whose reference (`get_resource`) is `refid`, or None.

        The last match is tried first next time: waiting types call this every second, and a stack may be large.
        """
        known = self._referred.get(str(refid))
        for name in itertools.chain((known,) if known is not None and known in self else (), self):
            if self._is_referred(name, refid):
                self._referred[str(refid)] = name
                return self[name]
        return None

    def name_by_refid(self, refid: object) -> str | None:
        """Return the name of the resource whose reference is `refid`, in whatever state; or None."""
        return next((name for name in self if self._has_reference(name, refid)), None)

    def _is_referred(self, name: str, refid: object) -> bool:
        row = self._leased.current(name)
        return row is not None and row.state in USABLE and self._has_reference(name, refid)

    def _has_reference(self, name: str, refid: object) -> bool:
        row = self._leased.current(name)
        if row is None or refid is None:            # optional properties are None, as are ids of what does not exist
            return False
        cache = self._leased.attribute_cache
        if refid in (row.physical_id, cache.of(row.id).get(REFERENCE)):
            return True
        return not cache.has(row.id) and self[name].get_reference_id() == refid

    def restart_resource(self, name: str, reason: str = '') -> None:
        """Replace a resource: mark it as unhealthy, and begin an update of the stack to its present definition.

        May be repeated after a crash. Raises, with nothing done, ActionInProgress and StackLocked.
        """
        if self.status == Status.IN_PROGRESS:
            raise exception.ActionInProgress(stack_name=self.name, action=self.action)
        resource = self[name]
        self.nesting.update_parent(lambda: resource.state_set(resource.CHECK, resource.FAILED, reason))

    def physical_id_of(self, row_id: int) -> str | None:
        """Return the physical id of one row, such as a resource's replacement; None if it has none, or is gone."""
        row = self._leased.row_numbered(row_id)
        return row.physical_id if row is not None else None

    def has_made(self, physical_id: str, name: str) -> bool:
        """Whether the object belongs to a resource that the resource `name` depends on."""
        wanted = self._leased.definition.resources.get(name)
        rows = [self._leased.current(required) for required in wanted.requires] if wanted is not None else []
        return any(row is not None and row.physical_id == physical_id for row in rows)

    def required_by(self, name: str) -> list[str]:
        """Return the names of the resources that need the resource `name` directly."""
        return [other for other, resource in self._leased.definition.resources.items() if name in resource.requires]

    @property
    def dependencies(self) -> Dependencies[Resource]:
        """The graph of the stack's resources: each with those that it requires. Makes an object of every resource."""
        objects = dict(self.items())
        graph: Dependencies[Resource] = Dependencies()
        for name, resource in self._leased.definition.resources.items():
            graph += (objects[name], None)
            for required in resource.requires:
                graph += (objects[name], objects[required])
        return graph

    def add_resource(self, resource: Resource) -> NoReturn:
        """Raise NotSupported: resources come from the definition, so that a plan can list all of them."""
        raise exception.NotSupported(feature=_('Adding a resource to a stack from a resource type'))

    def remove_resource(self, resource_name: str) -> NoReturn:
        """As `add_resource`."""
        raise exception.NotSupported(feature=_('Removing a resource from a stack from a resource type'))

    def preview_resources(self) -> list[object]:
        return [resource.preview() for resource in self.values()]

    def path_in_stack(self) -> list[tuple[str | None, str]]:
        return [(self.parent_resource_name, self.name)]

    # --- old names --------------------------------------------------------------------------------------

    def resolve_static_data(self, snippet: object) -> object:
        return snippet

    def resolve_runtime_data(self, snippet: object) -> object:
        return function.resolve(snippet)

    def get_availability_zones(self) -> list[str]:
        nova = self.clients.client_plugin('nova')
        if nova is None:
            raise exception.ClientNotAvailable(client_name='nova')
        return list(nova.availability_zones())
