"""The base of all resource types.

The parts that plug-ins may use: docs/spec/plugins.rst, "The base class of resource types".
"""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from oslo_config import cfg
from oslo_log import log
from oslo_utils import uuidutils

from heatlite.common import identifier, short_id
from heatlite.common import runtime as runtimes
from heatlite.common.exception import NoActionRequired, PollDelay, ResourceInError, ResourceUnknownStatus, UpdateReplace
from heatlite.common.i18n import _
from heatlite.engine import attributes, rsrc_defn, support
from heatlite.engine import properties as property_set
from heatlite.engine.resource_checking import Checking
from heatlite.engine.resource_keeping import Keeping
from heatlite.engine.resource_legacy import Legacy
from heatlite.engine.resource_reading import Reading
from heatlite.engine.resource_services import Services
from heatlite.engine.resource_update import Comparison, Updates
from heatlite.engine.stored_resource import NULL_WRITER, ResourceWriter, StoredResource
from heatlite.planning.states import ResourceState

LOG = log.getLogger(__name__)

DELETION_POLICY = (DELETE, RETAIN, SNAPSHOT) = rsrc_defn.DELETION_POLICIES
SHORTEST_NAME = 4                           # characters: two of the stack's name, a dash, one of the end

__all__ = [
    'DELETE',
    'DELETION_POLICY',
    'RETAIN',
    'SNAPSHOT',
    'Comparison',
    'NoActionRequired',
    'PollDelay',
    'Resource',
    'ResourceInError',
    'ResourceUnknownStatus',
    'ResourceWriter',
    'StoredResource',
    'UpdateReplace',
]


class Resource(Legacy, Updates, Reading, Keeping, Checking, Services):
    """One resource of one stack. The engine makes a new object for every step, so its attributes do not persist.

    To store state, use `resource_id_set`, `data_set` and `metadata_set`.
    """

    ACTIONS = (INIT, CREATE, DELETE, UPDATE, ROLLBACK, SUSPEND, RESUME, ADOPT, SNAPSHOT, CHECK) = (
        'INIT', 'CREATE', 'DELETE', 'UPDATE', 'ROLLBACK', 'SUSPEND', 'RESUME', 'ADOPT', 'SNAPSHOT', 'CHECK')
    STATUSES = (IN_PROGRESS, FAILED, COMPLETE) = ('IN_PROGRESS', 'FAILED', 'COMPLETE')
    LOCK_ACTIONS = (LOCK_NONE, LOCK_ACQUIRE, LOCK_RELEASE, LOCK_RESPECT) = (None, 1, -1, 0)

    properties_schema: Mapping[str, Any] = {}
    attributes_schema: Mapping[str, Any] = {}
    update_policy_schema: Mapping[str, Any] = {}
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

    poll_interval: ClassVar[float | None] = None        # seconds between two checks; None: the engine's interval
    always_inspected: ClassVar[bool] = False            # may need an update although its definition is unchanged
    parallel_signals: ClassVar[bool] = False            # several signals may be handled at the same time
    signal_mark: str | None = None                      # unique id of the signal being handled
    idempotent_create: ClassVar[bool] = False           # repeating the create after a crash is safe

    _property_schemata: ClassVar[tuple[Any, Any] | None] = None     # (schema as declared, as Schemas)

    def __init__(self, name: str, definition: rsrc_defn.ResourceDefinition, stack: Any) -> None:
        if '/' in name:
            raise ValueError(_('Resource name may not contain "/"'))
        self._stackref = weakref.ref(stack)
        self.name = name
        self.t = definition
        self.context = stack.context
        self.id: int | None = None
        self.uuid: str | None = None
        self.action: str = self.INIT
        self.status: str = self.COMPLETE
        self.status_reason = ''
        self.resource_id: str | None = None
        self.created_time: Any = None
        self.updated_time: Any = None
        self.requires: set[Any] = set()
        self.replaces: int | None = None
        self.replaced_by: int | None = None
        self.current_template_id: Any = None
        self.old_template_id: Any = None
        self.root_stack_id: str | None = None
        self.abandon_in_progress = False
        self.converge = False
        self.state_before: tuple[str, str] = (self.INIT, self.COMPLETE)
        self.type_environment: Any = None           # resolves the name `type()`; None: the environment of the stack
        self._record: StoredResource | None = None
        self._recorder: ResourceWriter = NULL_WRITER
        self._data: dict[str, str] = {}
        self._metadata: dict[str, Any] | None = None
        self._kept_attributes: dict[str, Any] = {}
        self._properties: property_set.Properties | None = None
        self._update_policy: property_set.Properties | None = None
        self._attributes = None

    # --- called by the engine -----------------------------------------------------------------------------

    def bind(self, record: StoredResource, recorder: ResourceWriter = NULL_WRITER) -> None:
        """Take over the stored state; from now on writes go to `recorder` (and into `record`)."""
        self._record = record
        self._recorder = recorder
        self._data = record.data
        self._metadata = record.metadata
        self._kept_attributes = record.attributes
        self._properties = None
        if isinstance(self._attributes, attributes.Attributes):     # some plug-ins put a dictionary of their own there
            self._attributes = None
        self.take_state(record.state)
        if record.before is not None:
            self.state_before = record.before

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

    def apply_definition(self, after: rsrc_defn.ResourceDefinition) -> None:
        """Make `after` the stored definition, after it was applied, and drop cached attributes."""
        self.t = after
        self._properties = self._update_policy = None
        if self._record is not None:
            self._record.properties = self.properties_to_store(after)
            self._record.definition = after.to_stored()
        self.clear_attributes()

    def properties_to_store(self, definition: rsrc_defn.ResourceDefinition | None = None) -> dict[str, Any]:
        """Return the properties of `definition` (default: its own) with functions resolved, not converted. The next
        update is compared with them."""
        given = (self.t if definition is None else definition).properties(self._schemata(), self.context)
        return given.resolved_data()

    def has_handler(self, action: str) -> bool:
        """Whether the type has a handler for `action`."""
        return self.handler(action) is not None

    def handler(self, action: str) -> Callable[..., Any] | None:
        """Return the handler of `action`, or None. For DELETE it depends on the deletion policy."""
        if action == self.DELETE:
            return self._delete_handler()
        return getattr(self, f'handle_{action.lower()}', None)

    def checker(self, action: str) -> Callable[[Any], Any] | None:
        """Return the check of `action`, called with the handler's return value. None: the action is done at once.

        The check may raise PollDelay(n): call it again after n poll intervals.
        """
        if self.handler(action) is None:
            return None
        return getattr(self, f'check_{action.lower()}_complete', None)

    def canceller(self, action: str) -> Callable[[Any], Any] | None:
        return getattr(self, f'handle_{action.lower()}_cancel', None)

    def cancel_grace_period(self) -> float | None:
        """Return the seconds to wait for a running action before cancelling it; None if the type can cancel it."""
        if self.status != self.IN_PROGRESS or self.canceller(self.action) is not None:
            return None
        return float(cfg.CONF.error_wait_time)

    def _delete_handler(self) -> Callable[..., Any] | None:
        match self.t.deletion_policy():
            case rsrc_defn.RETAIN:
                return None
            case rsrc_defn.SNAPSHOT if hasattr(self, 'handle_snapshot_delete'):
                return lambda: self.handle_snapshot_delete(self.state_before)
        return None if self.leaves_nothing() else self.handle_delete

    @classmethod
    def leaves_nothing(cls) -> bool:
        """Whether no action of this type creates anything that a deletion would have to remove."""
        return (cls.handle_delete is Resource.handle_delete and cls.entity is None
                and not any(hasattr(cls, name) for name in ('check_delete_complete', 'handle_snapshot_delete')))

    # --- state and surroundings ---------------------------------------------------------------------------

    @property
    def record(self) -> StoredResource | None:
        """The stored resource, which each write updates."""
        return self._record

    @property
    def stack(self) -> Any:
        stack = self._stackref()
        assert stack is not None, 'Need a reference to the Stack object'
        return stack

    @property
    def runtime(self) -> runtimes.Runtime:
        """Clock and randomness; types must not import them."""
        return getattr(self.stack, 'runtime', None) or runtimes.current()

    @property
    def state(self) -> tuple[str, str]:
        return str(self.action), str(self.status)

    @property
    def external_id(self) -> str | None:
        return self.t.external_id()

    def type(self) -> str:
        return self.t.resource_type

    def identifier(self) -> identifier.ResourceIdentifier:
        return identifier.ResourceIdentifier.of(self.stack.identifier(), self.name)

    def has_interface(self, resource_type: str) -> bool:
        """Whether it is of that type, or the type's name resolves to its class."""
        from heatlite.engine.types import registry
        return resource_type == self.type() or registry.current().implements(type(self), resource_type, self.stack.env)

    def required_by(self) -> list[str]:
        """Return the names of the resources that need this one directly."""
        return list(self.stack.required_by(self.name))

    def state_set(self, action: str, status: str, reason: str = 'state changed', lock: int | None = LOCK_NONE) -> None:
        if action not in self.ACTIONS:
            raise ValueError(_('Invalid action %s') % action)
        if status not in self.STATUSES:
            raise ValueError(_('Invalid status %s') % status)
        changed = (action, status) != self.state
        self.action, self.status, self.status_reason = action, status, reason
        self._recorder.state(self, action, status, reason)
        if changed:
            self._add_event(action, status, reason)

    def state_reset(self) -> None:
        self.action, self.status, self.status_reason = self.INIT, self.COMPLETE, ''

    def store(self, set_metadata: bool = False, lock: int | None = LOCK_NONE) -> None:
        """Write its present state; everything else has been written already."""
        if set_metadata:
            self.metadata_set(self.t.metadata())
        self._recorder.state(self, self.action, self.status, self.status_reason)

    def _add_event(self, action: str, status: str, reason: str) -> None:
        self._recorder.event(self, action, status, str(reason))

    # --- properties ---------------------------------------------------------------------------------------

    @property
    def properties(self) -> property_set.Properties:
        """The stored properties once it was created, before that those of the template."""
        if self._properties is None:
            self._parse(client_resolve=self._recorder is not NULL_WRITER, ignore_resolve_error=self._is_applied)
        return self._properties             # type: ignore[return-value]

    @properties.setter
    def properties(self, value: property_set.Properties) -> None:
        self._properties = value

    @property
    def update_policy(self) -> property_set.Properties:
        if self._update_policy is None:
            self._update_policy = self.t.update_policy(self.update_policy_schema, self.context)
        return self._update_policy

    @update_policy.setter
    def update_policy(self, value: property_set.Properties) -> None:
        self._update_policy = value

    def reparse(self, client_resolve: bool = True) -> None:
        """Parse the properties anew. `client_resolve`: translate names into ids by calling services."""
        self._parse(client_resolve, ignore_resolve_error=False)

    def _parse(self, client_resolve: bool, ignore_resolve_error: bool) -> None:
        found = (self.frozen_definition() if self._is_applied else self.t).properties(self._schemata(), self.context)
        self._properties = found
        self._update_policy = None
        self.translate_properties(found, client_resolve, ignore_resolve_error)

    @property
    def _is_applied(self) -> bool:
        """Whether the stored definition is in force. Objects that it names may be gone: that must not prevent a
        delete."""
        return self._record is not None and self._record.properties is not None and self.action != self.INIT

    def translation_rules(self, properties: property_set.Properties) -> list[Any]:
        """Return rules that translate given properties. For types to override."""
        return []

    def translate_properties(self, properties: property_set.Properties, client_resolve: bool = True,
                             ignore_resolve_error: bool = False) -> None:
        rules = self.translation_rules(properties)
        if rules:
            properties.update_translation(rules, client_resolve=client_resolve,
                                          ignore_resolve_error=ignore_resolve_error, is_made=self._is_made_here)

    def _is_made_here(self, value: Any) -> bool:
        """Whether `value` is the id of a resource in the stack on which this one depends. A value that is no UUID may
        be a name."""
        return uuidutils.is_uuid_like(value) and self.stack.has_made(value, self.name)

    def frozen_definition(self) -> rsrc_defn.ResourceDefinition:
        """Return the definition last applied, as stored; if there is none, its own one with functions resolved."""
        record = self._record
        if record is None or record.properties is None:
            return self.t.freeze()
        if record.definition is None:
            return self.t.freeze(properties=record.properties)
        return rsrc_defn.ResourceDefinition.from_stored(self.name, record.definition, record.properties)

    @contextlib.contextmanager
    def frozen_properties(self) -> Iterator[property_set.Properties]:
        """Make `self.properties` the stored properties within the context."""
        before = self._properties
        stored = self.frozen_definition().properties(self._schemata(), self.context)
        self.translate_properties(stored, ignore_resolve_error=True)
        self._properties = stored
        try:
            yield stored
        finally:
            self._properties = before

    def _schemata(self) -> Mapping[str, property_set.Schema]:
        """Return the schemas of properties. Made once for a class; old plug-ins declare them as dictionaries."""
        source = self.properties_schema
        kept = type(self).__dict__.get('_property_schemata')
        if kept is not None and kept[0] is source:
            return kept[1]
        found = property_set.schemata(source)
        if source is type(self).properties_schema:
            type(self)._property_schemata = (source, found)
        return found

    # --- names --------------------------------------------------------------------------------------------

    def physical_resource_name(self) -> str | None:
        """Return `<stack>-<resource>-<12 characters>`, shortened to the type's limit; None before there is a row."""
        if self.id is None or self.action == self.INIT:
            return None
        name = f'{self.stack.name.rstrip("*")}-{self.name}-{short_id.get_id(str(self.uuid))}'
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

    # --- for types ----------------------------------------------------------------------------------------

    def handle_delete(self) -> Any:
        """Delete the `entity` by the default client. Succeeds if it is gone already."""
        if self.entity and self.resource_id is not None:
            with self._default_client_plugin().ignore_not_found:
                getattr(self.client(), self.entity).delete(self.resource_id)
            return self.resource_id
        return None

    def handle_adopt(self, resource_data: Mapping[str, Any] | None = None) -> None:
        """Adopt an object: take over the resource's entry in an export."""
        entry = resource_data or {}
        if not entry.get('resource_id'):
            raise Exception(_('Resource ID was not provided.'))
        self.resource_id_set(entry['resource_id'])
        for key, value in (entry.get('resource_data') or {}).items():
            self.data_set(key, value)
        if entry.get('metadata') is not None:
            self.metadata_set(entry['metadata'])

    def handle_preempt(self) -> bool | None:
        """Called if a newer update waits for the running create or update. For types that can end it early.

        True: the engine aborts the action, as when it is cancelled. Otherwise it runs until its check returns true or
        raises. Called on a separate object of the stored state, without access to the running action.
        """
        return None

    def add_dependencies(self, deps: Any) -> None:
        """Add implicit dependencies: `deps += (self, other)`. For types to override."""

    def add_explicit_dependencies(self, deps: Any) -> None:
        """Add the dependencies in the definition."""
        for other in self.t.dependencies(self.stack):
            deps += (self, other)
        deps += (self, None)

    def preview(self) -> Any:
        """Return its entry in a preview: itself, or the members of a nested stack."""
        return self

    def prepare_abandon(self) -> dict[str, Any]:
        """Return its entry in an export."""
        return {'name': self.name, 'resource_id': self.resource_id, 'type': self.type(), 'action': str(self.action),
                'status': str(self.status), 'metadata': self.metadata_get(), 'resource_data': self.data()}

    def get_nested_parameters_stack(self) -> Any:
        """Return the nested stack, for `validate` with `show_nested`. For types with a nested stack to override."""
        return None

    def has_nested(self) -> bool:
        return False

    def nested(self) -> Any:
        return None

    def nested_identifier(self) -> Any:
        return None

    # --- the type itself ----------------------------------------------------------------------------------

    @classmethod
    def getdoc(cls) -> str:
        """Return the type's description, for listings."""
        return inspect.cleandoc(cls.__doc__) if cls.__doc__ else _('No description available')

    @classmethod
    def resource_to_template(cls, resource_type: str, template_type: str = 'cfn') -> dict[str, Any]:
        """Return a template with one resource of this type, its properties as parameters, its attributes as
        outputs."""
        from heatlite.engine.types import generated_templates
        return generated_templates.template_of(cls, resource_type, template_type)
