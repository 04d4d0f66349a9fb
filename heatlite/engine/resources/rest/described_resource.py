"""The interpreter: a resource whose type is a description.

What handlers return is plain JSON. Of an action with several calls it is stored how many were made, so that after
a crash none is made twice.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypedDict

from keystoneauth1.exceptions import HttpError

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os import generic_client
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.dependencies import Edges
from heatlite.engine.properties import Properties, Values
from heatlite.engine.resource_update import Comparison
from heatlite.engine.resources import existing
from heatlite.engine.resources.packed import RuleFacts
from heatlite.engine.resources.rest import (
    applied_names,
    attributes,
    begun_additions,
    call_progress,
    edges,
    existing_objects,
    hooks,
    names,
    plans,
    rules,
    service,
    waits,
)
from heatlite.engine.resources.rest.applied_names import Applied
from heatlite.engine.resources.rest.calls import CallTemplate, DescribedCall
from heatlite.engine.resources.rest.description import TypeDescription
from heatlite.engine.resources.rest.templating import TemplatingScope, fill, pick, places
from heatlite.engine.resources.rest.words import Kept
from heatlite.engine.resources.unknown_values import entries
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.translation import TranslationRule
from heatlite.planning import marks

MADE_UP = ('{uuid}', '{physical_name}')     # in ids that no service knows
REMOVED_FIRST = 'removed_first'             # resource data: the removal of the object before its replacement has begun

class UpdateCalls(TypedDict):
    """`calls`: as stored."""

    calls: list[dict[str, object]]


class DeleteCalls(TypedDict):
    sent: bool


class DescribedResource(resource.Resource):
    """Base of the classes made from descriptions; see `types.class_of`."""

    description: ClassVar[TypeDescription]
    validates_at_creation = True
    reference_kind: ClassVar[str] = 'physical_id'
    reference_before: ClassVar[str | None] = 'resource_name'
    rule_facts: ClassVar[tuple[RuleFacts, ...]] = ()     # translation rules of the facts
    made_here = False                       # this very object has begun to create the thing
    _last_known: Values | None = None
    _wanted: ResourceDefinition | None = None       # of the update that this object was compared for

    # --- create -------------------------------------------------------------------------------------------

    def handle_create(self) -> dict[str, object]:
        self.made_here = True
        call_progress.forget(self)          # of an attempt that was undone
        if not self.description.retry.get('create'):       # else it is sent while polling, as often as the service asks
            self._make()
        return {}

    def check_create_complete(self, handle: object) -> bool:
        if self.resource_id is None and not self._make_in_turn():
            return False
        return self._settled('create')

    def _make_in_turn(self) -> bool:
        """False: the service is busy with something that must end first."""
        if not self.made_here:              # begun by an engine that is gone: perhaps it was made
            self.made_here = True
            found = self.find_existing()
            if found is not None:
                self._made(found)
                return True
        try:
            self._make()
        except Exception as error:
            if not self._may_ask_again('create', error):
                raise
            return False
        return True

    def _make(self) -> None:
        what = self.description
        if what.create is None:
            hooks.changed(what, 'create', None, self)
            self._made(str(self._id_of({})))
            return
        existing_objects.snapshot_candidates(self)
        call = plans.create(what, self.scope(), self)
        try:
            answer = self.send(call)
        except Exception as error:
            if not service.reply_was_lost(error):
                raise
            lost = self.find_existing()
            if lost is not None:
                self._made(lost)
                return
            answer = self.send(call)        # it never arrived
        found = names.unwrapped(what, answer)
        self._keep(found)
        self._made(str(self._id_of(found)))

    def _made(self, physical_id: str) -> None:
        existing.forget(self)
        applied_names.store(self, self.properties)
        self.resource_id_set(physical_id)

    def _id_of(self, found: object) -> object:
        what = self.description
        if 'id' in what.hooks:
            return hooks.call(what, 'id', self, found)
        if '{' in what.id:
            return fill(what.id, self.scope(answer=found))
        value = pick(found, what.id)
        if value is None:
            raise exception.Error(_('The service did not say the %(field)s of what it made.') % {'field': what.id})
        return value

    def _keep(self, found: object) -> None:
        """Values that only this answer tells."""
        for key, how in self.description.keep.items():
            value = pick(found, how.get('field', key))
            if value is not None and self._is_kept(how):
                self.data_set(key, value if isinstance(value, str) else json.dumps(value), bool(how.get('redact')))

    def _is_kept(self, how: Kept) -> bool:
        return how.get('when') is None or bool(self.properties.get(how['when']))

    def _settled(self, action: str) -> bool:
        """Carry out what follows the creation of the object: further calls, the wait, the sub-collections. Return
        whether all is done."""
        what = self.description
        if call_progress.made(self, 'then') < len(what.then):
            call_progress.run(self, 'then', self._filled(what.then), last=False)
        if not self._is_ready(action):
            return False
        if what.follow:
            calls = plans.follow(what, self.scope(), self.properties, None, self.read)
            call_progress.run(self, 'follow', calls, last=not what.finish)
        if what.finish:
            call_progress.run(self, 'finish', self._filled(what.finish))
        call_progress.forget(self)
        return True

    def _filled(self, templates: Iterable[CallTemplate]) -> list[DescribedCall]:
        scope = self.scope()
        return [plans.versioned(self.description, template.fill(scope), scope.properties) for template in templates
                if template.applies(scope)]

    def _is_ready(self, action: str) -> bool:
        what = self.description
        if 'done' in what.hooks:
            return bool(hooks.call(what, 'done', self, action))
        wait = what.waits.get(action)
        return wait is None or wait.is_over(self.shown(fresh=True))

    def _may_ask_again(self, action: str, error: Exception) -> bool:
        """The service is busy with something else and says so: not an error, for as long as the stack's time allows.

        A replacement that conflicts with what it replaces would wait for ever: the old object is deleted after its
        replacement was made."""
        what = self.description
        if service.status_of(error) not in what.retry.get(action, ()):
            return False
        can_stay = action == 'create' and self.replaces is not None and bool(what.busy_says)
        return not can_stay or any(text in str(error) for text in what.busy_says)

    # --- update -------------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> UpdateCalls | None:
        what = self.description
        wanted = json_snippet.properties(self._schemata(), self.context)
        self.translate_properties(wanted)
        changed = {**prop_diff, **applied_names.led_elsewhere(self, wanted)}
        if not changed and not self.is_uncertain:
            applied_names.store(self, wanted)                   # the same ids may be given by name now
            return None
        call_progress.forget(self)          # of whatever was interrupted before
        before = self.before()
        staying = Applied(applied_names.lasting(self, wanted), wanted)
        scope = self.scope(staying, old=before, changed=changed)
        calls = plans.update(what, scope, changed, self) if changed else []
        again = None
        if self.is_uncertain and what.create is not None:
            with self._having(wanted):
                again = plans.create(what, scope, self)
            calls.append(again)
        calls += begun_additions.dropped(self, wanted)
        calls += plans.follow(what, scope, wanted, before, self.read, set(changed), self.is_uncertain)
        begun_additions.note(self, wanted, before)
        waits_for_others = bool(what.retry.get('update'))
        for call in () if waits_for_others else calls:
            answer = self.send(call)
            if call is again:
                self._keep(names.unwrapped(what, answer))
        if not waits_for_others:
            begun_additions.forget(self)
        applied_names.store(self, wanted)
        if what.repaired_in_place and changed.keys() & set(places(what.id)):
            with self._having(wanted):
                self._set_id(str(self._id_of({})))
        return {'calls': [call.stored() for call in calls] if waits_for_others else []}

    def _set_id(self, physical_id: str) -> None:
        if physical_id != self.resource_id:
            self.resource_id_set(physical_id)

    @contextlib.contextmanager
    def _having(self, properties: Properties) -> Iterator[None]:
        """Make `self.properties` the wanted ones within the context, for what a create would do with them."""
        applied = self.properties
        self.properties = properties
        try:
            yield
        finally:
            self.properties = applied

    def before(self) -> Values:
        """The properties before an update: what the service says of them, if it was asked, or else what was applied.

        Items that were added to a list behind the engine are in it, so that the update removes them.
        """
        seen = self.observed.values if self.observed is not None else {}
        return Applied({**applied_names.stored(self), **seen}, self.properties)

    def check_update_complete(self, handle: UpdateCalls | None) -> bool:
        if handle is None:
            return True
        calls = [DescribedCall.read(stored) for stored in handle['calls']]
        try:
            call_progress.run(self, 'update', calls, last='update' not in self.description.waits)
        except Exception as error:
            if not self._may_ask_again('update', error):
                raise
            return False
        if not self._is_ready('update'):
            return False
        begun_additions.forget(self)        # the calls were made here if the service may be busy
        call_progress.forget(self)
        return True

    def compare(self, after: ResourceDefinition) -> Comparison:
        self._wanted = after
        return super().compare(after)

    def calc_update_allowed(self, props: Properties) -> set[str]:
        return super().calc_update_allowed(props) | self.description.updates

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        what = self.description
        return bool(what.replaces & changed_properties_set) or ('replace' in what.hooks and bool(
            hooks.call(what, 'replace', self, changed_properties_set, after_props, before_props)))

    def needs_replace_failed(self) -> bool:
        """Kept when the description says so and the thing is there, unless it is bad itself."""
        bad = self.description.keep_failed
        if bad is None or self.resource_id is None:
            return True
        try:
            found = self.shown(fresh=True)
        except Exception as error:
            if not isinstance(error, exception.ObjectUncomparable) and not service.is_not_found(error):
                raise
            return True
        return any(pick(found, name) == value for name, value in bad.items())

    def prepare_for_replace(self) -> None:
        """Some names can exist only once: the old thing goes before the new one comes."""
        if self.resource_id is not None and self._goes_first():
            self.data_set(REMOVED_FIRST, 'true')
            self.note_release()
            self._take_away()
            self.resource_id_set(None)

    def was_removed_first(self) -> bool:
        return bool(self.description.replace_first) and (self.resource_id is None or REMOVED_FIRST in self.data())

    def was_released(self) -> bool:
        return REMOVED_FIRST in self.data() and self.status == self.FAILED

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Forget a removal that has failed: the update finds out what there is of the object, and repairs it."""
        self.data_delete(REMOVED_FIRST)

    def _goes_first(self) -> bool:
        names = self.description.replace_first
        if isinstance(names, bool):
            return names
        before = self.last_known()
        if all(before.get(name) is None for name in names):
            return False
        if self._wanted is None or self._wanted.resource_type != self.type():
            return self._wanted is None
        after = self._wanted.properties(self._schemata(), self.context)
        self.translate_properties(after, ignore_resolve_error=True)
        return all(before.get(name) == after[name] for name in names)

    # --- delete -------------------------------------------------------------------------------------------

    def object_key(self) -> object:
        """Return what identifies the object: its id, or the parts of the id that no update changes."""
        used = list(places(self.description.id))
        if not self.description.updates.intersection(used):
            return self.resource_id
        known = self.last_known()
        return [known[name] for name in used if name not in self.description.updates]

    def handle_delete(self) -> DeleteCalls | None:
        what = self.description
        if self.resource_id is None or not (what.delete or what.delete_follow or what.before_delete):
            return None
        if self.is_taken_over():
            return None
        return {'sent': False}

    def check_delete_complete(self, handle: DeleteCalls | None) -> bool:
        if not handle:
            return True
        if not handle['sent']:
            try:
                self._take_away()
            except waits.ObjectNotDeletable:
                return False
            except Exception as error:
                if self._may_ask_again('delete', error):
                    return False
                raise
            handle['sent'] = True
        return self._is_gone()

    def _take_away(self) -> None:
        """Everything again from the start each time: it is harmless to take away what is gone."""
        what = self.description
        scope = self.scope(self.last_known())
        with self._gone_is_fine():
            calls = plans.before_delete(what, scope, self.read) + begun_additions.dropped(self, scope.properties)
            for call in calls:
                with self._gone_is_fine():
                    self.send(call)
        if what.delete is None:
            return
        with self._gone_is_fine():
            call = plans.versioned(what, what.delete.fill(scope), scope.properties)
            for each in hooks.changed(what, 'delete', [call], self):
                self._send_delete(each)

    def _send_delete(self, call: DescribedCall) -> None:
        """Also if it is being deleted already: a request whose answer was lost is sent again, and may be refused."""
        try:
            self.send(call)
        except HttpError:
            gone = self.description.gone
            if gone is None or not gone.is_under_way(self.shown(fresh=True, properties=self.last_known())):
                raise

    @contextlib.contextmanager
    def _gone_is_fine(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not service.is_not_found(error):
                raise

    def _is_gone(self) -> bool:
        if self.description.gone is None:
            return True
        try:
            return self.description.gone.is_over(self.shown(fresh=True, properties=self.last_known()))
        except exception.ObjectUncomparable:    # what it was a part of is gone
            return True
        except Exception as error:
            if not service.is_not_found(error):
                raise
            return True

    def last_known(self) -> Values:
        """The properties as applied, with the ids that were stored; another name that no longer leads anywhere stays a
        name."""
        if self._last_known is None:
            applied = self.frozen_definition().properties(self._schemata(), self.context)
            self.translate_properties(applied, ignore_resolve_error=True)
            self._last_known = Applied(applied_names.stored(self), applied)
        return self._last_known

    # --- after a crash ------------------------------------------------------------------------------------

    def find_existing(self) -> str | None:
        """The id of what an interrupted create has made; None: nothing was made, or making it again is harmless.

        Raises Error when that is unknown.
        """
        found = existing_objects.find(self)
        if found is not None and any(self._is_kept(how) for how in self.description.keep.values()):
            self._throw_away(found)
            return None
        return found

    def _throw_away(self, physical_id: str) -> None:
        """Delete an object whose reply is lost: only the reply had some of its values, such as a secret.

        Leave it if it was made by the replacement of this resource, which may have the same name.
        """
        self.resource_id = physical_id
        try:
            if not self.is_taken_over():
                self._take_away()
        finally:
            self.resource_id = None

    # --- the service ----------------------------------------------------------------------------------------

    def client_plugin(self, name: str | None = None) -> Any:
        what = self.description
        if what.service_type and name in (None, what.service_type):
            return generic_client.plugin(self.context, what.service_type)
        return super().client_plugin(name)

    @classmethod
    def is_service_available(cls, context: RequestContext) -> tuple[bool, str | None]:
        kind = cls.description.service_type
        if kind is None:
            return super().is_service_available(context)
        if generic_client.plugin(context, kind).does_endpoint_exist(service_type=kind, service_name=kind):
            return True, None
        return False, _('%(client)s %(service)s endpoint is not in service catalog.') % {
            'client': kind, 'service': kind}

    # --- asking the service -------------------------------------------------------------------------------

    def scope(self, properties: Values | None = None, **more: object) -> TemplatingScope:
        """Return the values of the places in templates (`{id}`, `{name}` ...). `more`: further ones, by name."""
        found = self.properties if properties is None else properties
        return TemplatingScope(found, {
            **{name: functools.partial(applied_names.parent, self, found, name)
               for name in applied_names.parents(self)},
            'id': self.resource_id, 'uuid': self.uuid, 'physical_name': self.physical_resource_name,
            'name': lambda: names.chosen(self, found), 'own_project': lambda: self.context.cloud_project_id,
            'own_projects': lambda: [self.context.cloud_project_id],
            'old': found, 'stack': lambda: self.stack.id, **more})

    def send(self, call: DescribedCall) -> object:
        self.__dict__.pop('_seen', None)
        return service.send(self, call)

    def read(self, call: DescribedCall) -> Any:
        """The part of an answer that matters."""
        return pick(service.send(self, call), call.answer)

    def shown(self, fresh: bool = False, properties: Values | None = None) -> Any:
        """The thing as the service describes it, read once for this object unless `fresh`."""
        if fresh or '_seen' not in self.__dict__:
            what = self.description
            assert what.show is not None
            scope = self.scope(properties)
            try:
                call = plans.versioned(what, what.show.fill(scope), scope.properties)
            except exception.EntityNotFound as error:           # a parent, not the object
                raise exception.ObjectUncomparable(self.name, error) from error
            self.__dict__['_seen'] = names.unwrapped(what, service.send(self, call))
        return self.__dict__['_seen']

    def _show_resource(self) -> object:
        if self.description.show is None:
            return None
        return self.shown(fresh=True)

    # --- import -------------------------------------------------------------------------------------------

    def list_named(self, name: str | None) -> Iterable[Fields]:
        what = self.description
        if what.path is None or (name is not None and not what.name_property):
            return super().list_named(name)
        return existing_objects.listed(self, {} if name is None else {'name': name})

    def id_of_listed(self, entry: Mapping[str, object]) -> str:
        return existing_objects.id_of(self, entry)

    def read_imported(self) -> Any:
        what = self.description
        if what.show is None or any(own in what.id for own in MADE_UP):
            raise self._without_import()
        found = self.get_live_resource_data()
        if not existing_objects.is_shown(self, found):
            raise exception.EntityNotFound(entity='Resource', name=self.resource_id)
        return found

    def data_when_imported(self, data: object) -> dict[str, str]:
        named = applied_names.found(self, self.properties)
        return {applied_names.DATA_KEY: json.dumps(named)} if named else {}

    def live_when_imported(self, data: Any) -> dict[str, object]:
        is_itself = self.description.object is not None         # else what is shown is something else
        return names.live(self, self.properties, data, self.properties_schema if is_itself else None)

    # --- check --------------------------------------------------------------------------------------------

    def handler(self, action: str) -> Callable[..., object] | None:
        """Whatever can be shown can be checked; a type may have a check of its own."""
        found = super().handler(action)
        if found is None and action == self.CHECK and self.description.show is not None:
            return self._check_is_there
        return found

    def _check_is_there(self) -> None:
        """Raise EntityNotFound, ResourceInError. What merely differs from the template is for a preview to tell."""
        self._check_created()
        try:
            found = self.get_live_resource_data()
        except exception.ObjectUncomparable:
            if not self._may_have_ended():
                raise
            return
        wait = self.description.waits.get('create')
        if wait is not None:
            with contextlib.suppress(exception.ResourceUnknownStatus):     # it came to that after it was made
                wait.is_over(found)

    def get_live_resource_data(self) -> object:
        """Raise EntityNotFound if the object is not there, or what is shown in its place is without it."""
        try:
            found = self._show_resource()
        except Exception as error:
            if service.is_not_found(error):
                if self._may_have_ended():
                    raise exception.ObjectUncomparable(self.name, error) from error
                raise exception.EntityNotFound(entity='Resource', name=self.name)
            raise
        what = self.description
        if 'exists' in what.hooks and not self._is_made_again() and not hooks.call(
                what, 'exists', self, self.last_known(), found):
            raise exception.EntityNotFound(entity='Resource', name=self.name)
        return found

    def _is_made_again(self) -> bool:
        """Return whether the next update creates the object again, because its state is not known."""
        return (self.description.repaired_in_place and self.record is not None
                and marks.is_uncertain(self.record.state.fingerprint))

    def _may_have_ended(self) -> bool:
        """Whether the service deletes the object itself once it is done: that it is not there is no fault."""
        given = self.last_known()
        return any(given.get(name) is not None if word == 'when' else given.get(name) is None
                   for condition in self.description.ends for word, name in condition.items())

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        return names.live(self, resource_properties, resource_data)

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_any_attribute(self, attr: str) -> object:
        try:
            return super()._resolve_any_attribute(attr)
        except exception.ObjectUncomparable:
            return None
        except Exception as error:
            if not service.is_not_found(error):
                raise
            return None

    def _resolve_attribute(self, name: str) -> object:
        return None if self.resource_id is None else attributes.value(self, name)

    def get_reference_id(self) -> Any:
        if self.reference_kind == 'physical_name' and self.resource_id is not None:
            return self.physical_resource_name()
        if self.resource_id is not None:
            return str(self.resource_id)
        return self.name if self.reference_before == 'resource_name' else self.reference_before

    # --- checking -----------------------------------------------------------------------------------------

    def validate(self) -> object:
        found = super().validate()
        what = self.description
        if self.external_id is None:
            rules.check(what.check, self._given)
            if 'check' in what.hooks:
                hooks.call(what, 'check', self)
        return found

    def _validates_at_creation(self) -> bool:
        what = self.description
        has_own = bool(what.check) or 'check' in what.hooks or type(self).validate is not DescribedResource.validate
        return has_own and super()._validates_at_creation()

    def _given(self, path: str) -> object:
        """Return a property's value for the rules: None when it was not given, SOMETHING or PERHAPS when it is not
        known yet."""
        first, _dot, rest = path.partition('.')
        if first in self.properties.deferred:
            known = entries(self.properties, first) if not rest else []
            return known or (rules.PERHAPS if self.properties[first] is None else rules.SOMETHING)
        value = self.properties[first]
        return pick(value, rest) if rest else value

    def translation_rules(self, properties: Properties) -> list[TranslationRule]:
        return names.translation_rules(self, properties)

    def add_dependencies(self, deps: Edges) -> None:
        edges.add(self, deps)
