"""The base of all resource types.

The parts that plug-ins may use: docs/spec/plugins.rst, "The base class of resource types".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from oslo_config import cfg
from oslo_log import log

from heatlite.common import exception, identifier
from heatlite.common.exception import NoActionRequired, PollDelay, ResourceInError, ResourceUnknownStatus, UpdateReplace
from heatlite.common.i18n import _
from heatlite.common.identifier import HeatIdentifier
from heatlite.engine import attributes, rsrc_defn
from heatlite.engine.dependencies import Edges
from heatlite.engine.resource_importing import Importing
from heatlite.engine.resource_keeping import Exported
from heatlite.engine.resource_legacy import Legacy
from heatlite.engine.resource_update import Comparison
from heatlite.engine.stored_resource import NULL_WRITER, ResourceWriter, StoredResource

LOG = log.getLogger(__name__)

# Methods by which a type may ask for an update or a replacement although nothing has changed.
DECIDING = frozenset({'_needs_update', 'needs_replace'})

# Where a class says whether it accepts any name of an attribute, or gives them itself: then it may know more of them.
READING_ATTRIBUTES = frozenset({'accepts_any_attribute', 'get_attribute', 'FnGetAtt'})

DELETION_POLICY = (DELETE, RETAIN, SNAPSHOT) = rsrc_defn.DELETION_POLICIES

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


class Resource(Legacy, Importing):
    """One resource of one stack. The engine makes a new object for every step, so its attributes do not persist.

    To store state, use `resource_id_set`, `data_set` and `metadata_set`.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if 'always_inspected' not in own and not own.keys().isdisjoint(DECIDING):
            cls.always_inspected = True
        nearest = next(each for each in cls.__mro__ if not vars(each).keys().isdisjoint(READING_ATTRIBUTES))
        accepts = bool(vars(nearest).get('accepts_any_attribute', True))
        if accepts != cls.accepts_any_attribute:        # a class without any of them leaves it to its bases
            cls.accepts_any_attribute = accepts

    # --- called by the engine -----------------------------------------------------------------------------

    def bind(self, record: StoredResource, writer: ResourceWriter = NULL_WRITER) -> None:
        """Take over the stored state; from now on writes go to `writer` (and into `record`)."""
        self._record = record
        self._writer = writer
        self._data = record.data
        self._metadata = record.metadata
        self._cached_attributes = record.attributes
        self.forget_values()
        self.take_state(record.state)
        if record.before is not None:
            self.state_before = record.before

    def forget_values(self) -> None:
        """Drop the properties and attributes read so far, which are read again when needed: they refer to the resource,
        so that only the garbage collector would free both."""
        self._properties = None
        if isinstance(self._attributes, attributes.Attributes):     # some plug-ins put a dictionary of their own there
            self._attributes = None

    def apply_definition(self, after: rsrc_defn.ResourceDefinition) -> None:
        """Make `after` the stored definition, after it was applied, and drop cached attributes."""
        self.t = after
        self._properties = self._update_policy = None
        if self._record is not None:
            self._record.properties = self.properties_to_store(after)
            self._record.definition = after.to_stored()
        self.clear_attributes()

    def properties_to_store(self, definition: rsrc_defn.ResourceDefinition | None = None) -> dict[str, object]:
        """Return the properties of `definition` (default: its own) with functions resolved, not converted. The next
        update is compared with them."""
        given = (self.t if definition is None else definition).properties(self._schemata(), self.context)
        return given.resolved_data()

    def has_handler(self, action: str) -> bool:
        """Whether the type has a handler for `action`."""
        return self.handler(action) is not None

    def handler(self, action: str) -> Callable[..., object] | None:
        """Return the handler of `action`, or None. For DELETE it depends on the deletion policy."""
        if action == self.DELETE:
            return self._delete_handler()
        return getattr(self, f'handle_{action.lower()}', None)

    def checker(self, action: str) -> Callable[..., object] | None:
        """Return the check of `action`, called with the handler's return value. None: the action is done at once.

        The check may raise PollDelay(n): call it again after n poll intervals.
        """
        if self.handler(action) is None:
            return None
        return getattr(self, f'check_{action.lower()}_complete', None)

    def canceller(self, action: str) -> Callable[..., object] | None:
        return getattr(self, f'handle_{action.lower()}_cancel', None)

    def cancel_grace_period(self) -> float | None:
        """Return the seconds to wait for a running action before cancelling it; None if the type can cancel it."""
        if self.status != self.IN_PROGRESS or self.canceller(self.action) is not None:
            return None
        return float(cfg.CONF.error_wait_time)

    def _delete_handler(self) -> Callable[..., object] | None:
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

    def identifier(self) -> identifier.ResourceIdentifier:
        return identifier.ResourceIdentifier.of(self.stack.identifier(), self.name)

    def has_interface(self, resource_type: str) -> bool:
        """Whether it is of that type, the name of its type leads to that name, or that name to its class."""
        from heatlite.engine.types import registry
        return (self._leads_to(self.type(), self.name, resource_type)
                or registry.current().implements(type(self), resource_type, self.stack.env))

    def implements_type(self, type_name: str, resource_name: str, wanted: str) -> bool:
        """Return what `has_interface(wanted)` of a resource of the stack is whose type has this name, without an object
        of it. False for an unknown type."""
        from heatlite.engine.types import registry
        types = registry.current()
        try:
            return self._leads_to(type_name, resource_name, wanted) or types.implements(
                types.resolve(type_name, resource_name, self.stack.env), wanted, self.stack.env)
        except exception.StackValidationFailed:
            return False

    def _leads_to(self, type_name: str, resource_name: str, wanted: str) -> bool:
        """Whether the stack's environment maps a type name to another one, or they are the same."""
        from heatlite.engine.types import registry
        if type_name == wanted:
            return True
        try:
            return registry.current().meaning(type_name, resource_name, self.stack.env) == wanted
        except exception.StackValidationFailed:
            return False

    def required_by(self) -> list[str]:
        """Return the names of the resources that need this one directly."""
        return list(self.stack.required_by(self.name))

    def state_set(self, action: str, status: str, reason: str = 'state changed', lock: int | None = None) -> None:
        if action not in self.ACTIONS:
            raise ValueError(_('Invalid action %s') % action)
        if status not in self.STATUSES:
            raise ValueError(_('Invalid status %s') % status)
        changed = (action, status) != self.state
        self.action, self.status, self.status_reason = action, status, reason
        self._writer.state(self, action, status, reason)
        if changed:
            self._add_event(action, status, reason)

    def state_reset(self) -> None:
        self.action, self.status, self.status_reason = self.INIT, self.COMPLETE, ''

    def store(self, set_metadata: bool = False, lock: int | None = None) -> None:
        """Write its present state; everything else has been written already."""
        if set_metadata:
            self.metadata_set(self.t.metadata())
        self._writer.state(self, self.action, self.status, self.status_reason)

    # --- for types ----------------------------------------------------------------------------------------

    def handle_delete(self) -> object:
        """Delete the `entity` by the default client. Succeeds if it is gone already."""
        if self.entity and self.resource_id is not None:
            with self._default_client_plugin().ignore_not_found:
                getattr(self.client(), self.entity).delete(self.resource_id)
            return self.resource_id
        return None

    def handle_adopt(self, resource_data: Exported | None = None) -> object:
        """Adopt an object: take over the resource's entry in an export."""
        entry: Exported = resource_data or {}
        if not entry.get('resource_id'):
            raise Exception(_('Resource ID was not provided.'))
        self.resource_id_set(entry['resource_id'])
        for key, value in (entry.get('resource_data') or {}).items():
            self.data_set(key, value)
        if entry.get('metadata') is not None:
            self.metadata_set(entry['metadata'])
        return None

    def handle_preempt(self) -> bool | None:
        """Called if a newer update waits for the running create or update. For types that can end it early.

        True: the engine aborts the action, as when it is cancelled. Otherwise it runs until its check returns true or
        raises. Called on a separate object of the stored state, without access to the running action.
        """
        return None

    def add_dependencies(self, deps: Edges) -> None:
        """Add implicit dependencies: `deps += (self, other)`. For types to override."""

    def add_explicit_dependencies(self, deps: Edges) -> None:
        """Add the dependencies in the definition."""
        for other in self.t.dependencies(self.stack):
            deps += (self, other)
        deps += (self, None)

    def preview(self) -> object:
        """Return its entry in a preview: itself, or the members of a nested stack."""
        return self

    def get_nested_parameters_stack(self) -> object:
        """Return the nested stack, for `validate` with `show_nested`. For types with a nested stack to override."""
        return None

    def has_nested(self) -> bool:
        return False

    def nested(self) -> object:
        return None

    def nested_identifier(self) -> HeatIdentifier | None:
        return None

    # --- the type itself ----------------------------------------------------------------------------------

    @classmethod
    def getdoc(cls) -> str:
        """Return the type's description, for listings."""
        return inspect.cleandoc(cls.__doc__) if cls.__doc__ else _('No description available')

    @classmethod
    def resource_to_template(cls, resource_type: str, template_type: str = 'cfn') -> dict[str, object]:
        """Return a template with one resource of this type, its properties as parameters, its attributes as
        outputs."""
        from heatlite.engine.types import generated_templates
        return generated_templates.template_of(cls, resource_type, template_type)
