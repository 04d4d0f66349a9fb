"""The state of a resource, and its surroundings: what all parts of `Resource` share."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from heatlite.common import runtime as runtimes
from heatlite.common import short_id
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import properties as property_set
from heatlite.engine import rsrc_defn, support
from heatlite.engine.stored_resource import NULL_WRITER, ResourceWriter, StoredResource
from heatlite.language.environment import Environment
from heatlite.planning.states import ResourceState

if TYPE_CHECKING:
    from heatlite.engine.attributes import Attributes
    from heatlite.engine.resource_stack import OwnStack

SHORTEST_NAME = 4                           # characters: two of the stack's name, a dash, one of the end
PHYSICAL_NAME = 'physical_resource_name'    # data of a resource whose object has the name of another place


def physical_name(stack_name: str, name: str, uuid: str) -> str:
    """Return `<stack>-<resource>-<12 characters>`."""
    return f'{stack_name.rstrip("*")}-{name}-{short_id.get_id(uuid)}'


class State:
    """The base of the parts of `Resource`."""

    ACTIONS = (INIT, CREATE, DELETE, UPDATE, ROLLBACK, SUSPEND, RESUME, ADOPT, SNAPSHOT, CHECK) = (
        'INIT', 'CREATE', 'DELETE', 'UPDATE', 'ROLLBACK', 'SUSPEND', 'RESUME', 'ADOPT', 'SNAPSHOT', 'CHECK')
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ('IN_PROGRESS', 'FAILED', 'COMPLETE')
    LOCK_ACTIONS = (LOCK_NONE, LOCK_ACQUIRE, LOCK_RELEASE, LOCK_RESPECT) = (None, 1, -1, 0)

    properties_schema: Mapping[str, object] = {}
    attributes_schema: Mapping[str, object] = {}
    update_policy_schema: Mapping[str, object] = {}
    support_status = support.SupportStatus()
    default_client_name: ClassVar[str | None] = None
    entity: ClassVar[str | None] = None
    required_service_extension: ClassVar[str | None] = None
    update_allowed_properties: tuple[str, ...] = ()
    physical_resource_name_limit: int | None = 255
    attributes_from_options: ClassVar[Mapping[str, str]] = {}       # attribute of this class -> option of [DEFAULT]
    strict_dependency = True
    requires_deferred_auth = False
    no_signal_actions: tuple[str, ...] = (SUSPEND, DELETE)
    signal_needs_metadata_updates = True
    always_replace_on_check_failed = True

    away_patience: float | None = None      # seconds to wait for a service that does not answer; None: any time
    poll_interval: ClassVar[float | None] = None        # seconds between two checks; None: the engine's interval
    keeps_token: ClassVar[bool] = False                 # acts by the token of the request as long as its action lasts
    # May need an update although its definition is unchanged. True for each class that decides by itself whether it
    # needs one (`_needs_update`, `needs_replace`), unless it says otherwise: each update of its stack asks it.
    always_inspected: ClassVar[bool] = False
    sends_files: ClassVar[bool] = False                 # its calls carry the files of its stack, so they are part of it
    parallel_signals: ClassVar[bool] = False            # several signals may be handled at the same time
    signal_mark: str | None = None                      # unique id of the signal being handled
    signalled_at: datetime | None = None                # when that signal was stored
    idempotent_create: ClassVar[bool] = False           # repeating the create after a crash is safe
    # Its object is a setting of another one, or can exist only once. A failed one is not replaced, as the delete of the
    # old object would undo its replacement, or the create conflict with it: `handle_update` repairs it, see
    # `is_uncertain`.
    repaired_in_place: ClassVar[bool] = False
    validates_alone: ClassVar[bool] = False             # `validate` of that class uses nothing but the properties
    validates_at_creation: ClassVar[bool] = False       # `validate` of that class may run again before the create
    looks_up_others: ClassVar[bool] = False             # needs the resources that it refers to in its own stack

    # Not set in `__init__`: with more than thirty attributes of its own an object takes 500 bytes more.
    old_template_id: str | None = None
    root_stack_id: str | None = None
    abandon_in_progress = False
    converge = False

    # (schema as declared, as Schemas)
    _property_schemata: ClassVar[tuple[object, Mapping[str, property_set.Schema]] | None] = None

    def __init__(self, name: str, definition: rsrc_defn.ResourceDefinition, stack: Any) -> None:
        if '/' in name:
            raise ValueError(_('Resource name may not contain "/"'))
        self._stackref = weakref.ref(stack)
        self.name = name
        self.t = definition
        self.context: RequestContext = stack.context
        self.id: int | None = None
        self.uuid: str | None = None
        self.action: str = self.INIT
        self.status: str = self.COMPLETE
        self.status_reason = ''
        self.resource_id: str | None = None
        self.created_time: datetime | None = None
        self.updated_time: datetime | None = None
        self.requires: set[str] = set()
        self.replaces: int | None = None
        self.replaced_by: int | None = None
        self.current_template_id: str | None = None
        self.state_before: tuple[str, str] = (self.INIT, self.COMPLETE)
        self.type_environment: Environment | None = None    # of the name `type()`; None: that of the stack
        self._record: StoredResource | None = None
        self._writer: ResourceWriter = NULL_WRITER
        self._data: dict[str, str] = {}
        self._metadata: rsrc_defn.Metadata | None = None
        self._cached_attributes: dict[str, object] = {}
        self._properties: property_set.Properties | None = None
        self._update_policy: property_set.Properties | None = None
        self._attributes: Attributes | None = None      # made at the first use; or a plug-in's dictionary

    @property
    def record(self) -> StoredResource | None:
        """The stored resource, which each write updates."""
        return self._record

    @property
    def stack(self) -> OwnStack:
        stack: OwnStack | None = self._stackref()
        assert stack is not None, 'Need a reference to the Stack object'
        return stack

    @property
    def runtime(self) -> runtimes.Runtime:
        """Clock and randomness; types must not import them."""
        found: runtimes.Runtime | None = getattr(self.stack, 'runtime', None)
        return found or runtimes.current()

    @property
    def state(self) -> tuple[str, str]:
        return str(self.action), str(self.status)

    @property
    def external_id(self) -> str | None:
        return self.t.external_id()

    def take_state(self, state: ResourceState) -> None:
        """Take over a new state that the engine has set. Writes nothing."""
        if (state.action, state.status) != (self.action, self.status):
            self.state_before = (str(self.action), str(self.status))
        if self._record is not None:
            self._record.state = state
        self.id = state.id
        self.uuid = state.uuid
        self.action = state.action
        self.status = state.status
        self.status_reason = state.reason
        self.resource_id = state.physical_id
        self.created_time = state.created_at
        self.updated_time = state.updated_at
        self.requires = set(state.requires)
        self.replaces = state.replaces
        self.replaced_by = state.replaced_by
        self.current_template_id = state.template_id

    def type(self) -> str:
        return self.t.resource_type

    def _add_event(self, action: str, status: str, reason: str) -> None:
        self._writer.event(self, action, status, str(reason))

    # --- names --------------------------------------------------------------------------------------------

    def physical_resource_name(self) -> str | None:
        """Return `<stack>-<resource>-<12 characters>`, shortened to the type's limit; None before there is a row.

        It stays when the resource, or its stack, gets another name."""
        if self.id is None or self.action == self.INIT:
            return None
        name = self._data.get(PHYSICAL_NAME) or physical_name(self.stack.name, self.name, str(self.uuid))
        limit = self.physical_resource_name_limit
        return self.reduce_physical_resource_name(name, limit) if limit else name

    @staticmethod
    def reduce_physical_resource_name(name: str, limit: int) -> str:
        """Shorten `name` to `limit` characters: the first two, a dash, the end. Raises ValueError below 4."""
        if len(name) <= limit:
            return name
        if limit < SHORTEST_NAME:
            raise ValueError(_('limit cannot be less than 4'))
        return f'{name[:2]}-{name[3 - limit:]}'

    def __str__(self) -> str:
        name = f'{type(self).__name__} "{self.name}"'
        if self.resource_id is not None:
            name += f' [{self.resource_id}]'
        stack = self._stackref()
        return f'{name} Stack "{stack.name}" [{stack.id}]' if stack is not None else name

    def __repr__(self) -> str:
        return f'<{self}>'
