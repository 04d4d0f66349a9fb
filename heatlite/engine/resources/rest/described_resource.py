"""The class of resources whose type is a description: what the engine calls, and what hooks and attributes read.

The parts of a resource's life are functions of other modules of the package. What handlers return is plain JSON. Of an
action with several calls it is stored how many were made, so that after a crash none is made twice.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypedDict

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os import generic_client
from heatlite.engine.clients.os.collection import Fields
from heatlite.engine.dependencies import Edges
from heatlite.engine.properties import Properties, Values
from heatlite.engine.resource_update import Comparison
from heatlite.engine.resources.packed import RuleFacts
from heatlite.engine.resources.rest import (
    applied_names,
    attributes,
    call_progress,
    creation,
    deletion,
    edges,
    existing_objects,
    hooks,
    kept_values,
    names,
    plans,
    presence,
    readiness,
    replacement,
    rules,
    service,
    updating,
)
from heatlite.engine.resources.rest.applied_names import Applied
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.description import TypeDescription
from heatlite.engine.resources.rest.templating import TemplatingScope, pick, places
from heatlite.engine.resources.rest.updating import UpdateCalls
from heatlite.engine.resources.unknown_values import entries
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.translation import TranslationRule

MADE_UP = ('{uuid}', '{physical_name}')     # in ids that no service knows


class DeleteCalls(TypedDict):
    """What `handle_delete` returns, as stored. `sent`: whether the service has taken the request to delete."""

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
            creation.create(self)
        return {}

    def check_create_complete(self, handle: object) -> bool:
        if self.resource_id is None and not creation.create_in_turn(self):
            return False
        return creation.complete(self)

    # --- update -------------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> UpdateCalls | None:
        wanted = json_snippet.properties(self._schemata(), self.context)
        self.translate_properties(wanted)
        return updating.start(self, wanted, prop_diff)

    def before(self) -> Values:
        """The properties before an update: what the service says of them, if it was asked, or else what was applied.

        Items that were added to a list behind the engine are in it, so that the update removes them.
        """
        seen = self.observed.values if self.observed is not None else {}
        return Applied({**applied_names.stored(self), **seen}, self.properties)

    def check_update_complete(self, handle: UpdateCalls | None) -> bool:
        return handle is None or updating.complete(self, handle)

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
        return replacement.is_needed_after_failure(self)

    def prepare_for_replace(self) -> None:
        replacement.prepare(self, self._wanted)

    def was_removed_first(self) -> bool:
        return bool(self.description.replace_first) and (
            self.resource_id is None or replacement.has_begun_removal(self))

    def was_released(self) -> bool:
        return self.status == self.FAILED and replacement.has_begun_removal(self)

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        replacement.forget_removal(self)

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
            if not deletion.delete_in_turn(self):
                return False
            handle['sent'] = True
        return readiness.is_gone(self)

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
        if found is not None and kept_values.are_wanted(self):
            deletion.discard(self, found)
            return None
        return found

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
        presence.check(self)

    def get_live_resource_data(self) -> object:
        return presence.read(self)

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
