"""Executes single commands of one stack: compares definitions, calls handlers of resource types, returns events.

Runs in the threads of the pool. Makes no decisions: planning decides what follows from an event.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from heatlite.common import defects, exception, short_id
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db.leases import Lease
from heatlite.engine import rsrc_defn
from heatlite.engine.attributes import CACHE_NONE, SHOW_ATTR
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.reconcile import attribute_cache, diff, exports, unknowns
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_writer import ChangeLog, JournalWriter
from heatlite.engine.reconcile.service_errors import is_away, is_final
from heatlite.engine.reconcile.step_context import StepContext, definition_of, fingerprint, plain, stored_definition
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.resource import Resource
from heatlite.engine.stored_resource import ResourceWriter, StoredResource
from heatlite.engine.types.registry import Registry
from heatlite.language.environment import Environment
from heatlite.language.unknown import UNKNOWN
from heatlite.planning import commands
from heatlite.planning.decide import Verdict
from heatlite.planning.states import NO_HANDLE, Action, Change, ResourceState
from heatlite.planning.steps import Kind, Step

LOG = logging.getLogger(__name__)

APPLYING = frozenset({Action.CREATE, Action.UPDATE, Action.ADOPT})
OWN_TYPES = 'heatlite.engine.resources.'
UNCHANGED = Verdict(changed=False)
AWAY_PATIENCE = 5.0                 # seconds until a service that does not answer is called again
AWAY_TURNS = 5                      # poll intervals until a check is repeated whose service does not answer


class StepExecutor:
    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, registry: Registry, facade: Stack,
                 records: StoredResourceCache, may_act: Callable[[Lease], None], *, dry: bool = False,
                 observe: bool = False, saved: Callable[[], Mapping[str, Any]] = dict) -> None:
        """`records`: the stored resources. `may_act(lease)`: returns once the lease is certainly valid.

        `dry`: for a preview; types are asked, but no handler is called. `observe`: compare with the state that the
        services report. `saved()`: the data of the snapshot that is being restored.
        """
        self._saved = saved
        self._dry = dry
        self._observe = observe
        self._runtime = runtime
        self._leased = leased
        self._journal = journal
        self._registry = registry
        self._contexts: dict[Step, StepContext] = {}    # of the steps under way
        self.facade = facade                        # types have only a weak reference to it
        self.records = records
        self._may_act = may_act
        self.scope = attribute_cache.StackScope(self._current, lambda row: leased.kept.get(row.id, {}), self._ask,
                                       self._is_future, self._early_reference)
        facade.scope = self.scope
        self.to_make: set[int] = set()              # preview: rows that the update would create
        self.changed: set[int] = set()              # preview: rows that the update would change
        self.foreseen: dict[int, Resource] = {}     # preview: changed rows whose future attributes can be read
        self.doubts: dict[str, unknowns.Doubt] = {}   # preview: resources without a certain verdict
        self.property_changes: dict[str, dict[str, diff.PropertyChange]] = {}
        self.gone: set[str] = set()                 # preview: resources whose objects the services do not know
        self._environments: dict[str, Environment] = {}     # former template -> its environment

    def use_types(self, registry: Registry) -> None:
        """Use `registry` from the next step on; a step under way keeps its class."""
        self._registry = registry

    # --- definitions ------------------------------------------------------------------------------------

    def context(self, step: Step) -> StepContext | None:
        """Return the context of the step, or None if no command of it was executed here."""
        return self._contexts.get(step)

    def forget(self, step: Step) -> None:
        """Drop the context of a step that has ended."""
        work = self._contexts.pop(step, None)
        if work is not None and work.resource is not None:
            work.resource.forget_values()
            work.resource = None                    # it refers to the context

    def resolve(self, step: Step) -> StepContext:
        """Resolve the wanted definition of a step with the current values of its requirements. Stores an error in the
        context instead of raising it."""
        work = self._contexts[step] = StepContext()
        wanted = self._leased.definition.resources[step.name]
        try:
            resolved = wanted.resolved(self.scope)
            if self._leased.row.action == Action.RESTORE:
                resolved = self._restored(step.name, resolved)
        except Exception as error:
            work.error = error
            return work
        work.fingerprint = fingerprint(resolved)
        work.definition = definition_of(step.name, resolved)
        work.metadata = resolved.get('metadata') or {}
        work.columns = {'properties': resolved.get('properties') or {},
                        'definition': {name: value for name, value in resolved.items()
                                       if name != 'properties' and value}}
        return work

    def _restored(self, name: str, resolved: dict[str, Any]) -> dict[str, Any]:
        """Return the wanted definition as changed by the type's handle_restore, from the data of the snapshot."""
        row = self._current(name)
        saved = exports.restored(self._saved(), name)
        if row is None or not row.exists or not saved:
            return resolved
        resource = self.stored_resource(row)
        if not hasattr(resource, 'handle_restore'):
            return resolved
        changed = resource.handle_restore(definition_of(name, resolved), saved)
        return {**resolved, 'properties': dict(changed.get('Properties') or {})}

    def begin(self, step: Step) -> StepContext:
        """Return the context of the step, made at the first call."""
        work = self._contexts.get(step)
        if work is not None:
            return work
        if step.kind is Kind.CONCLUDE:
            return self._as_stored(step)
        return self._as_wanted(step)

    def _as_wanted(self, step: Step) -> StepContext:
        if step.applies and step.name in self._leased.definition.resources:
            return self.resolve(step)
        work = self._contexts[step] = StepContext()
        return work

    def _as_stored(self, step: Step) -> StepContext:
        """Make the context from the definition stored with the intent. If there is none, the handler was never
        called."""
        record = self.records.get(self._leased.rows[step.row_id])
        if record.properties is None:
            return self._as_wanted(step)
        work = self._contexts[step] = StepContext()
        work.as_stored = True
        work.definition = stored_definition(record)
        work.metadata = record.metadata
        work.fingerprint = fingerprint({**(record.definition or {}), 'type': record.state.type,
                                        'properties': record.properties})
        return work

    def physical_name(self, row: ResourceState, work: StepContext | None) -> str:
        """Return the physical name of the resource, for events before there is an id."""
        if work is not None and work.resource is not None and work.resource.id == row.id:
            return work.resource.physical_resource_name() or ''
        return f'{self._leased.row.name}-{row.name}-{short_id.get_id(row.uuid)}'

    # --- objects of types -------------------------------------------------------------------------------

    def resource(self, step: Step, row: ResourceState, first: bool = False) -> Resource:
        """Return the object of the resource type for `row` in this step.

        `first`: nothing but the intent is stored of the row, so that there is nothing to read.
        """
        work = self.begin(step)
        if work.resource is not None and work.resource.id == row.id:
            work.resource.take_state(row)
            return work.resource
        applied = work.definition if step.applies and row.action is not Action.UPDATE else None
        fresh = applied is not None and row.physical_id is None and row.action in (Action.CREATE, Action.ADOPT)
        record = StoredResource(row) if fresh and first else self.records.get(row)
        definition = stored_definition(record) if applied is None else applied
        if fresh:
            record.metadata = work.metadata
        environment = self._environment if applied is not None and not work.as_stored else self._environment_of(row)
        work.resource = self._make(definition, record, self._recorder(work), environment)
        return work.resource

    @property
    def _environment(self) -> Environment:
        """The environment of the wanted definition."""
        return self._leased.definition.environment

    def _environment_of(self, row: ResourceState) -> Environment:
        """Return the environment with which `row` was last applied: it defines the meaning of the row's type name.

        It is stored as long as a row refers to its template (db.templates.prune).
        """
        template_id = row.template_id
        if template_id is None or template_id == self._leased.row.template_id:
            return self._environment
        if template_id not in self._environments:
            stored = self.records.environment(template_id)
            if stored is None:
                return self._environment
            self._environments[template_id] = Environment(stored, self._environment.operator)
        return self._environments[template_id]

    def _kind(self, row: ResourceState) -> type[Resource]:
        """Return the class of the row's type. Raises StackValidationFailed if it is no longer registered."""
        return self._registry.resolve(row.type, row.name, self._environment_of(row))

    def _means_the_same(self, row: ResourceState) -> bool:
        """Whether the row's type name has the same target in the wanted definition."""
        then, now = self._environment_of(row), self._environment
        return then is now or then.find(row.type, row.name).target == now.find(row.type, row.name).target

    def _recorder(self, work: StepContext) -> JournalWriter:
        return JournalWriter(self._journal, self._leased, self._runtime, work, self.records)

    def _make(self, definition: rsrc_defn.ResourceDefinition, record: StoredResource, recorder: ResourceWriter,
              environment: Environment) -> Resource:
        """Make the object of the resource type. `environment`: the one that belongs to `definition`."""
        kind = self._registry.resolve(definition.resource_type, definition.name, environment)
        resource = kind(definition.name, definition, self.facade)
        resource.type_environment = environment
        resource.bind(record, recorder)
        return resource

    def stored_resource(self, row: ResourceState, recorder: ResourceWriter | None = None) -> Resource:
        """Return an object of the stored state, outside any step: for reading, or for a signal with its `recorder`."""
        record = self.records.get(row)
        return self._make(stored_definition(record), record, recorder or self._recorder(StepContext()),
                          self._environment_of(row))

    def with_definition(self, resource: Resource, definition: rsrc_defn.ResourceDefinition) -> Resource:
        """Return an object of the same stored state with another definition. For a preview."""
        assert resource.record is not None
        return self._make(definition, resource.record, self._recorder(StepContext()), self._environment)

    def kind_of(self, row: ResourceState) -> type[Resource]:
        """Return the class of the row's type. Raises StackValidationFailed if it is no longer registered."""
        return self._kind(row)

    def unmade(self, name: str) -> Resource:
        """Return an object for a resource that does not exist yet, with the values known so far."""
        resolved = self._leased.definition.resources[name].resolved(self.scope)
        definition = definition_of(name, resolved)
        kind = self._registry.resolve(definition.resource_type, name, self._environment)
        return kind(name, definition, self.facade)

    def _early_reference(self, name: str) -> str:
        """Return the reference of a resource that has no object yet."""
        wanted = self._leased.definition.resources.get(name)
        if wanted is None:
            return name
        try:
            kind = self._registry.resolve(wanted.type, name, self._environment)
        except exception.StackValidationFailed:
            return name
        return str(kind.early_reference(self._leased.row.name, name))

    def is_live(self, name: str, attribute: str) -> bool:
        """Whether the attribute comes from a service and must be read anew each time, not from the cache."""
        row = self._current(name)
        if row is None:
            return False
        try:
            kind = self._kind(row)
        except exception.StackValidationFailed:     # the type is gone: only the cached value is left
            return False
        if kind.default_client_name is None and kind.__module__.startswith(OWN_TYPES):
            return False                    # uses no service; a plug-in may use one without a client of heatlite
        schema = kind.attributes_schema.get(attribute)
        return getattr(schema, 'cache_mode', None) == CACHE_NONE or attribute == 'show'

    def forget_live(self) -> None:
        """Drop the live attributes from the cache, so that they are read anew."""
        for row_id, kept in list(self._leased.kept.items()):
            row = self._leased.rows.get(row_id)
            if row is None:                         # added since the rows were read
                del self._leased.kept[row_id]
                continue
            name = row.name
            self._leased.kept[row_id] = {kept_as: value for kept_as, value in kept.items()
                                         if not self.is_live(name, attribute_cache.attribute_of(kept_as))}

    def class_name(self, row: ResourceState) -> str:
        return self._kind(row).__name__

    def is_harmless(self, step: Step, row: ResourceState) -> bool:
        """Whether the step is a create that is safe to repeat after a crash, so that no commit need be awaited."""
        if row.action is not Action.CREATE:
            return False
        try:
            return bool(self._kind(row).idempotent_create)
        except exception.HeatException:
            return False

    def _current(self, name: str) -> ResourceState | None:
        return self._leased.current(name)

    def _is_future(self, row: ResourceState, attribute: bool) -> bool:
        return row.id in self.to_make or (attribute and row.id in self.changed and row.id not in self.foreseen)

    def _ask(self, row: ResourceState, attribute: str, path: tuple[Any, ...]) -> Any:
        foreseen = self.foreseen.get(row.id)
        try:
            resource = foreseen if foreseen is not None else self.stored_resource(row)
            if attribute == '*':
                return resource.FnGetAtts()
            return resource.FnGetAtt(attribute, *path)
        except Exception:                           # the value may exist once the update is done
            if foreseen is not None:
                return UNKNOWN
            raise

    # --- commands ---------------------------------------------------------------------------------------

    def is_plainly_unchanged(self, step: Step, row: ResourceState) -> bool:
        """Whether the definition alone shows that nothing has changed, as for most resources in most updates.

        Calls no type and never blocks, so it needs no thread of the pool.
        """
        wanted = self._leased.definition.resources[step.name]
        try:
            if (wanted.needs or wanted.is_external or self._leased.row.action == Action.RESTORE
                    or not self._is_settled(row, wanted.type)):
                return False
            return row.fingerprint == fingerprint(wanted.resolved(self.scope))
        except Exception:                           # the inspection reports it
            return False

    def inspect(self, step: Step, row: ResourceState) -> commands.Inspected | commands.Failed:
        try:
            work = self.resolve(step)
            wanted = work.wanted()
            if row.fingerprint == work.fingerprint and self._is_settled(row, wanted.resource_type):
                return commands.Inspected(step, UNCHANGED)
            resource = self.resource_as_stored(step, row, work)
            kind = self._registry.resolve(wanted.resource_type, step.name, self._environment)
            if self._dry:
                return commands.Inspected(step, self._foretold(step, row, work, kind))
            verdict, work.difference = diff.inspect(resource, kind, wanted, self._leased, row, observe=self._observe)
            if verdict.replace is not None and verdict.refused is None:
                resource.prepare_for_replace()
            return commands.Inspected(step, verdict)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            return self._failure(step, row, error, Action.UPDATE)

    def _foretold(self, step: Step, row: ResourceState, work: StepContext, kind: type[Resource]) -> Verdict:
        """Return the verdict for a preview. Stores why it is uncertain in `doubts`, and the differences in
        `property_changes`."""
        stored, definition = stored_definition(self.records.get(row)), work.wanted()

        def ask(wanted: rsrc_defn.ResourceDefinition) -> tuple[Verdict, diff.UpdateArguments | None]:
            return diff.inspect(self.resource_as_stored(step, row, work), kind, wanted, self._leased, row,
                                      observe=self._observe)

        try:
            verdict, work.difference = ask(definition)
        except Exception:
            unknown = unknowns.unknown_properties(definition)
            if not unknown:
                raise
            self.doubts[step.name] = unknowns.Doubt(unknowns.why(unknown), True)
            return Verdict(changed=True)
        observed = work.resource.observed if work.resource is not None else None
        if observed is not None and observed.is_gone and row.physical_id is not None:
            self.gone.add(step.name)
        doubt = unknowns.find(kind, definition, stored, verdict, lambda wanted: ask(wanted)[0])
        if doubt is not None:
            self.doubts[step.name] = doubt
        self.property_changes[step.name] = diff.property_changes(
            self.resource_as_stored(step, row, work), definition, observed)
        return verdict

    def type_of(self, row: ResourceState) -> str:
        """Return the name of the built-in type, plug-in or template that the row's type name stands for. Raises
        StackValidationFailed if it is no longer registered."""
        return self._registry.meaning(row.type, row.name, self._environment_of(row))

    def wanted_type(self, name: str) -> str:
        """As `type_of`, for the type in the wanted definition."""
        return self._registry.meaning(self._leased.definition.resources[name].type, name, self._environment)

    def resource_as_stored(self, step: Step, row: ResourceState, work: StepContext) -> Resource:
        record = self.records.get(row)
        work.resource = self._make(stored_definition(record), record, self._recorder(work), self._environment_of(row))
        return work.resource

    def _is_settled(self, row: ResourceState, wanted_type: str) -> bool:
        """Whether an unchanged definition means that there is nothing to do."""
        return (row.status == 'COMPLETE' and row.replaced_by is None
                and not (self._observe or self._leased.row.converge) and row.type == wanted_type
                and self._means_the_same(row) and not self._kind(row).always_inspected)

    def ensure_lease(self) -> None:
        """Return once the lease of the stack is certainly valid. Raises LeaseLost."""
        self._may_act(self._leased.lease)

    def call(self, command: commands.Call) -> commands.Event:
        """Call handle_<verb>, then the first check. Raises DatabaseUnavailable, as do `check`, `recover`, `preempt`.

        Like them it is called behind the fence (Runner.fenced)."""
        step, row, verb = command.step, command.row, command.action
        try:
            if verb is Action.DELETE and self._kind(row).leaves_nothing():      # the stored resource is not needed
                return commands.HandlerReturned(step, None, done=True)
            work = self.begin(step)
            if work.error is not None:
                raise work.error
            resource = self.resource(step, row, command.first)
            handler, arguments = self._handler(resource, command, work)
            if handler is None:
                self._done(step, row.id, work, verb)
                return commands.HandlerReturned(step, None, done=True, unsupported=verb is Action.CHECK,
                                                fingerprint=work.fingerprint)
            work.handle = (self._create(resource, handler, work.is_away) if verb is Action.CREATE
                           else handler(*arguments))
            self._is_back(work, row, verb)
            if verb is Action.UPDATE and work.handle and _as_text(work.handle) is not None:
                self._store_handle(row, work.handle)    # the first check may do a part of the work already
            delay = self._ask_whether_done(resource, work, verb)
            if delay:
                return commands.HandlerReturned(step, plain(work.handle))
            self._done(step, row.id, work, verb)
            return commands.HandlerReturned(step, None, done=True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if self._may_wait(step, verb, error):
                return self._away(step, row, error, verb)
            return self._failure(step, row, error, verb)

    def _may_wait(self, step: Step, verb: Action, error: Exception) -> bool:
        """Whether the service does not answer, and repeating the call does nothing twice."""
        if not is_away(error) or verb not in (Action.CREATE, Action.UPDATE, Action.DELETE):
            return False
        work = self._contexts.get(step)
        if work is None or work.resource is None:
            return False
        resource = work.resource
        if verb is not Action.CREATE:
            return True                             # as after a crash
        return resource.idempotent_create or (resource.resource_id is None and hasattr(resource, 'find_existing'))

    def _away(self, step: Step, row: ResourceState, error: Exception, verb: Action) -> commands.Away:
        failure = exception.ResourceFailure(error, row, verb)
        work = self._contexts[step]
        if not work.is_away:                        # one line for each outage, not for each try
            work.is_away = True
            LOG.warning('%s of %s in stack %s waits for a service that does not answer: %s', verb, row.name,
                        self._leased.id, failure.message)
        return commands.Away(step, failure.message, AWAY_PATIENCE)

    def _is_back(self, work: StepContext, row: ResourceState, verb: Action) -> None:
        if work.is_away:
            work.is_away = False
            LOG.info('%s of %s in stack %s goes on: the service answers again', verb, row.name, self._leased.id)

    def _create(self, resource: Resource, handler: Callable[[], Any], is_again: bool) -> Any:
        """Call handle_create and return its handle. If it fails without an id, look for an object that it may have
        created. `is_again`: an earlier call has failed."""
        try:
            if is_again and resource.resource_id is None and hasattr(resource, 'find_existing'):
                found = resource.find_existing()    # raises while the service does not answer
                if found is not None:
                    resource.resource_id_set(str(found))
                    return None
            return handler()
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if is_away(error):
                raise
            if resource.resource_id is None and self._find(resource):
                LOG.info('%s of stack %s was made although its creation failed: %s', resource.name, self._leased.id,
                         error)
                return None
            raise

    def _find(self, resource: Resource) -> bool:
        """Look for an object of an interrupted or failed create, and store its id. Returns whether there is one.

        Ignores the object of another row: a replacement may have the same name.
        """
        if not hasattr(resource, 'find_existing'):
            return False
        try:
            found = resource.find_existing()
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            defects.log(LOG, error, 'Looking for what may be left of %s in stack %s failed', resource.name,
                        self._leased.id)
            return False
        if found is None or any(row.physical_id == str(found) and row.type == resource.type()
                                for row in self._leased.rows.values() if row.id != resource.id):
            return False
        resource.resource_id_set(str(found))
        return True

    def check(self, step: Step, row: ResourceState, verb: Action, handle: Any) -> commands.Event:
        """Call check_<verb>_complete with the handle, which may come from another process before a crash."""
        try:
            work = self.begin(step)
            if work.error is not None:
                raise work.error
            resource = self.resource(step, row)
            if work.handle is NO_HANDLE:
                work.handle = handle
            before = _as_text(work.handle)
            delay = self._ask_whether_done(resource, work, verb)
            if delay:
                if before is not None and _as_text(work.handle) != before:
                    self._store_handle(row, work.handle)
                return commands.CheckReturned(step, False, delay)
            self._done(step, row.id, work, verb)
            return commands.CheckReturned(step, True, fingerprint=work.fingerprint)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            if is_away(error) and verb is not Action.CHECK:
                LOG.info('%s of %s in stack %s will be asked for again: %s: %s', verb, row.name, self._leased.id,
                         type(error).__name__, error)
                return commands.CheckReturned(step, False, AWAY_TURNS)
            return self._failure(step, row, error, verb)

    def _store_handle(self, row: ResourceState, handle: Any) -> None:
        """Store a handle that a check has changed: its progress must be durable before the next check."""
        if plain(handle) is NO_HANDLE:
            return                                  # after a crash the handler is called again
        current = self._leased.rows[row.id]
        changed = current._replace(handle=handle)
        self._leased.record(changed)
        self._journal.write(Change(self._leased.id, self._leased.lease.epoch, row=changed))

    def _ask_whether_done(self, resource: Resource, work: StepContext, verb: Action) -> int:
        """0, or the number of turns until the next question."""
        undoing = work.undoing and verb is Action.DELETE        # the create after it is polled like the first one
        checker = getattr(resource, 'check_delete_complete', None) if undoing else resource.checker(verb)
        if checker is None:
            return 0
        try:
            return 0 if checker(work.handle) else 1
        except exception.PollDelay as delay:
            return delay.period

    def _handler(self, resource: Resource, command: commands.Call,
                 work: StepContext) -> tuple[Callable[..., Any] | None, tuple[Any, ...]]:
        verb = command.action
        match verb:
            case Action.CREATE:
                resource.reparse()
                resource.check_properties()
            case Action.UPDATE:
                if work.difference is None:             # the update began before a crash
                    _, work.difference = diff.inspect(resource, type(resource), work.wanted(), self._leased,
                                                      command.row)
                change = work.difference
                if change is None:
                    return None, ()
                return resource.handler(verb), (change.definition, change.template, change.properties)
            case Action.DELETE if exports.is_abandoned(self._leased.row):
                return self._abandonment(resource), ()
            case Action.DELETE if resource.resource_id is None:
                self._find(resource)                    # a create that failed may have left an object
                return resource.handler(verb), ()
            case Action.DELETE if command.recreating:
                work.undoing = True                     # ignores the deletion policy: the create never completed
                return resource.handle_delete, ()
            case Action.ADOPT:
                external = resource.t.external_id()
                if external is not None:
                    resource.resource_id_set(external)
                    return None, ()
                adopted = (self._leased.row.request or {}).get('adopt', {}).get(command.step.name)
                return resource.handler(verb), (adopted,)
        return resource.handler(verb), ()

    def _abandonment(self, resource: Resource) -> Callable[[], Any] | None:
        """Return the handler for DELETE of an abandoned stack: objects stay, but a nested stack is abandoned, too."""
        if not resource.has_nested():
            return None
        return lambda: self.facade.nesting.abandon(resource)

    def _done(self, step: Step, row_id: int, work: StepContext, verb: Action) -> None:
        """End an action that stores a definition: cache the reference and attributes, which are read in this
        thread."""
        if verb not in APPLYING or step.name not in self._leased.definition.resources:
            return
        resource = self.resource(step, self._leased.rows[row_id])
        if verb is Action.UPDATE:
            resource.apply_definition(work.wanted())
        kept = self.keep(resource, step.name)
        self._leased.kept[row_id] = kept
        if len(kept) > 1 or kept[attribute_cache.REFERENCE] != resource.resource_id:
            work.columns['attributes'] = {name: value for name, value in kept.items()
                                          if not isinstance(value, Exception)}

    def keep(self, resource: Resource, name: str) -> dict[str, Any]:
        """Read the reference and the attributes that the template or the API will need: cache key -> value, or the
        error of reading it."""
        kept: dict[str, Any] = {attribute_cache.REFERENCE: resource.get_reference_id()}
        wanted = set(self._leased.definition.referenced_attributes(name))
        if () in wanted or resource.default_client_name is None:        # all are needed, or reading calls no service
            wanted.discard(())
            wanted |= {(attribute,) for attribute in resource.attributes_schema if attribute != 'show'}
        for attribute, *path in sorted(wanted, key=str):        # one order, so that a simulation can be repeated
            if attribute == SHOW_ATTR and resource.default_client_name is not None:
                continue                                # later steps may change the object, so it is read when needed
            try:
                value = resource.FnGetAtt(attribute, *path)
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:                  # raised when the attribute is read, not in the step
                value = error
            kept[attribute_cache.key(attribute, tuple(path))] = value
        return kept

    def recover(self, step: Step, row: ResourceState) -> commands.Event:
        """Find out the result of an interrupted call, for a row found in progress."""
        try:
            resource = self.resource(step, row)
            if row.action is not Action.CREATE or resource.idempotent_create:
                outcome = commands.Recovered(step, commands.Outcome.RETRY)
            elif hasattr(resource, 'find_existing'):        # its check needs the id only
                found = row.physical_id or resource.find_existing()
                outcome = (commands.Recovered(step, commands.Outcome.FOUND, str(found)) if found else
                           commands.Recovered(step, commands.Outcome.RETRY))
            elif row.physical_id is not None:
                outcome = commands.Recovered(step, commands.Outcome.RECREATE)
            else:
                outcome = commands.Recovered(step, commands.Outcome.UNKNOWN)
            return outcome
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            return self._failure(step, row, error, row.action)

    def preempt(self, step: Step, row: ResourceState) -> commands.Preempted:
        """Notify the type that a newer definition waits. Uses a separate object of the stored state, as the plug-in
        contract requires: the step's own object may be in the middle of a call."""
        try:
            if self._kind(row).handle_preempt is Resource.handle_preempt:
                return commands.Preempted(step, False)
            resource = self.stored_resource(self._leased.rows.get(row.id, row))
            return commands.Preempted(step, resource.handle_preempt() is True)
        except (exception.DatabaseUnavailable, LeaseLost):
            raise
        except Exception as error:
            defects.log(LOG, error, 'Preempting %s of %s in stack %s failed', row.action, row.name, self._leased.id)
            return commands.Preempted(step, False)

    def cancel(self, step: Step, row: ResourceState) -> Callable[[], None] | None:
        """Return what calls handle_<action>_cancel of the type for a step that is aborted; None if it has none.

        The call raises DatabaseUnavailable, and is made behind the fence, like `call`."""
        work = self._contexts.get(step)
        if work is None or work.resource is None or row.action not in (
                Action.CREATE, Action.UPDATE, Action.DELETE, Action.SUSPEND, Action.RESUME):
            return None
        handler = getattr(work.resource, f'handle_{row.action.lower()}_cancel', None)
        if not callable(handler):
            return None
        handle = work.handle if work.handle is not NO_HANDLE else None

        def cancel() -> None:
            try:
                handler(handle)
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:
                defects.log(LOG, error, 'Cancelling %s of %s in stack %s failed', row.action, row.name, self._leased.id)

        return cancel

    def _failure(self, step: Step, row: ResourceState, error: Exception, verb: Action) -> commands.Failed:
        if isinstance(error, exception.UpdateReplace):
            return commands.Failed(step, self._masked(str(error)), replace=True)
        work = self._contexts.get(step)
        resource = work.resource if work is not None else None
        failure = exception.ResourceFailure(error, row, verb)
        retry = False
        if resource is not None:
            try:
                retry = is_worth_retrying(resource, error, verb)
            except Exception as defect:
                defects.log(LOG, defect, 'Classifying an error of %s in stack %s failed', row.name, self._leased.id)
        if defects.is_defect(error):                # other failures are one line, when the step ends
            defects.log(LOG, error, '%s of %s (%s) in stack %s failed', verb, row.name, row.type, self._leased.id)
        else:
            if retry and not isinstance(error, exception.HeatException):
                LOG.info('%s of %s in stack %s failed: %s', verb, row.name, self._leased.id,
                         self._masked(str(error)))
            LOG.debug('%s of %s in stack %s failed:\n%s', verb, row.name, self._leased.id,
                      self._masked(''.join(traceback.format_exception(error))))
        message = failure.message
        if isinstance(error, exception.ResourceInError) and resource is not None and resource.resource_id is not None:
            message += _(' (id %s)') % resource.resource_id     # it may be gone by the time somebody looks
        return commands.Failed(step, self._masked(message), retry=retry)

    def _masked(self, text: str) -> str:
        """Mask the values of hidden parameters, which services and types quote in their errors."""
        return self._leased.definition.mask.text(text)


def _as_text(handle: Any) -> str | None:
    """Return a handle that a check may change in place as JSON; None for any other handle."""
    if not isinstance(handle, dict | list):
        return None
    try:
        return json.dumps(handle)
    except (TypeError, ValueError):
        return None


def is_worth_retrying(resource: Resource, error: Exception, verb: Action) -> bool:
    """Whether a retry may help: the service was busy, or the object went into error.

    Source: docs/spec/engine.rst, "Retries".
    """
    if verb is Action.CREATE and isinstance(error, exception.ResourceInError):
        return True
    if verb is Action.DELETE and isinstance(error, exception.PhysicalResourceExists):
        return True
    plugin = resource.client_plugin() if resource.default_client_name else None
    return plugin is not None and bool(plugin.is_conflict(error)) and not (verb is Action.CREATE and is_final(error))
