"""OS::Heat::ResourceGroup.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.common import turns
from heatlite.common.document_size import measure
from heatlite.common.i18n import _
from heatlite.common.limits import exceeded
from heatlite.engine.resources import catalogue, group_outputs, members, packed_types
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.template import Template
from heatlite.planning import scaling

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.language.facts import Nested

NAME = 'OS::Heat::ResourceGroup'
REMOVED = 'name_blacklist'              # key of the resource data; names separated by commas


class ResourceGroup(members.MemberGroup):
    """A group of members of one definition, named by numbers that are never used twice."""

    PROPERTIES: tuple[str, ...]
    PROPERTIES = (COUNT, INDEX_VAR, RESOURCE_DEF, REMOVAL_POLICIES, REMOVAL_POLICIES_MODE) = (
        'count', 'index_var', 'resource_def', 'removal_policies', 'removal_policies_mode')
    _RESOURCE_DEF_KEYS = (RESOURCE_DEF_TYPE, RESOURCE_DEF_PROPERTIES, RESOURCE_DEF_METADATA) = (
        'type', 'properties', 'metadata')
    _REMOVAL_POLICIES_KEYS = (REMOVAL_RSRC_LIST,) = ('resource_list',)
    _REMOVAL_POLICY_MODES = (REMOVAL_POLICY_APPEND, REMOVAL_POLICY_UPDATE) = ('append', 'update')
    _UPDATE_POLICY_SCHEMA_KEYS = (ROLLING_UPDATE, BATCH_CREATE) = ('rolling_update', 'batch_create')
    _ROLLING_UPDATE_SCHEMA_KEYS = (MIN_IN_SERVICE, MAX_BATCH_SIZE, PAUSE_TIME) = (
        'min_in_service', 'max_batch_size', 'pause_time')
    ATTRIBUTES: tuple[str, ...]
    ATTRIBUTES = (REFS, REFS_MAP, ATTR_ATTRIBUTES, REMOVED_RSRC_LIST) = (
        'refs', 'refs_map', 'attributes', 'removed_rsrc_list')

    member_attributes = group_outputs.INDEXED
    nested_members: Nested | None = staticmethod(packed_types.group_members)
    _previewed_removals: set[str] | None = None          # in a preview; nothing is noted there

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    update_policy_schema = catalogue.update_policy(NAME)
    support_status = catalogue.status(NAME)

    # --- members ------------------------------------------------------------------------------------------

    def get_size(self) -> int:
        return int(self.properties[self.COUNT])

    def _resource_names(self, size: int | None = None) -> Iterator[str]:
        """The first `size` names (default: as many as wanted) of those that were never taken away."""
        size = self.get_size() if size is None else size
        self.check_size(size)
        removed = self._removed()
        free = (name for name in map(str, itertools.count()) if name not in removed)
        return itertools.islice(free, size)

    def get_resource_def(self, include_all: bool = False) -> dict[str, object]:
        """The members' definition. `include_all`: with the properties that are null."""
        found = {key: value for key, value in self.properties[self.RESOURCE_DEF].items() if value is not None}
        given = found.get(self.RESOURCE_DEF_PROPERTIES)
        if given is not None and not include_all:
            found[self.RESOURCE_DEF_PROPERTIES] = {
                name: value for name, value in given.items() if value is not None}
        return found

    def build_resource_definition(self, res_name: str, res_defn: Mapping[str, object]) -> Mapping[str, object]:
        """The definition of one member: its name in the place of the index variable."""
        given = res_defn.get(self.RESOURCE_DEF_PROPERTIES)
        variable = self.properties[self.INDEX_VAR]
        turns.spend()
        if not given or not _mentions(given, variable):
            return res_defn
        return {**res_defn, self.RESOURCE_DEF_PROPERTIES: _replaced(given, variable, res_name)}

    def _assemble_nested(self, names: Iterable[str], include_all: bool = False,
                         template_version: tuple[str, str] = members.VERSION) -> Template:
        wanted = self.get_resource_def(include_all)
        return self.assembled(self._definitions(names, wanted), template_version)

    def _definitions(self, names: Iterable[str], wanted: Mapping[str, object]) -> dict[str, members.Member]:
        """The definitions of these members. Raises RequestLimitExceeded before it makes copies that are too large."""
        names = list(names)
        found: dict[str, members.Member] = {}
        for name in names:
            found[name] = made = self.build_resource_definition(name, wanted)
            if len(found) == 1 and made is not wanted:
                self._check_copies(made, len(names))
        return found

    def _check_copies(self, member: members.Member, count: int) -> None:
        limits = self.stack.defn.limits.of_later
        if measure(dict(member), limits) * count > limits.max_expansion:
            raise exceeded(_('The members of the group "%s" expand further') % self.name, limits.max_expansion,
                           'max_template_expansion')

    def child_template(self) -> Template:
        return self._assemble_nested(self._resource_names())

    def _nested_output_defns(self, resource_names: Iterable[str], get_attr_fn: object = None,
                             get_res_fn: object = None) -> Iterator[tuple[str, object]]:
        return self._outputs(list(resource_names))

    # --- names that are gone for good ---------------------------------------------------------------------

    def _removed(self) -> set[str]:
        """Return the names of members that were removed and must not come again. For a group that is only planned:
        those that its removal policies name."""
        if self._previewed_removals is not None:
            return self._previewed_removals
        if self.resource_id is None and REMOVED not in self.data():
            return set(self._newly_removed(set()))
        return self._noted_removals()

    def _noted_removals(self) -> set[str]:
        return set(filter(None, self.data().get(REMOVED, '').split(',')))

    def _note_removals(self) -> None:
        """Adds what the removal policies name, durably: a name once removed must not come again after a crash."""
        after = self._removals()
        if after == self._noted_removals():
            return
        self.data_set(REMOVED, ','.join(sorted(after, key=lambda name: (len(name), name))))
        if self.resource_id is not None:
            self.store_data()

    def _removals(self) -> set[str]:
        before = self._noted_removals()
        kept = before if self.properties[self.REMOVAL_POLICIES_MODE] == self.REMOVAL_POLICY_APPEND else set()
        return kept | set(self._newly_removed(before))

    def preview_template(self, prop_diff: Mapping[str, object]) -> object:
        """Return the template of the members, without those that a rolling update adds for its duration."""
        if self.properties.schema.get(self.REMOVAL_POLICIES) is not None:
            self._previewed_removals = self._removals()
        return self.counted_template()

    def _newly_removed(self, before: set[str]) -> Iterator[str]:
        """Names, and references of members; what is neither is ignored."""
        entries = [entry for policy in self.properties[self.REMOVAL_POLICIES] or ()
                   for entry in policy[self.REMOVAL_RSRC_LIST] or ()]
        if not entries:
            return
        existing = set(self.current_members())
        names = {reference: name for name, reference in self._references().items()} if self.resource_id else {}
        for entry in entries:
            name = str(entry)
            if self.resource_id is None or name in before or name in existing:
                yield name
            elif isinstance(entry, str) and entry in names:
                yield names[entry]

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self) -> object:
        self.check_size(self.get_size())
        self._note_removals()
        policy = self.update_policy[self.BATCH_CREATE]
        if not policy or not self.get_size():
            return self.create_with_template(self.child_template(), self.child_params())
        self.check_pauses(scaling.growing(self.get_size(), policy[self.MAX_BATCH_SIZE]), policy[self.PAUSE_TIME])
        return self.in_batches(self.create_with_template(self._assemble_nested([]), self.child_params()))

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> object:
        self.take_properties(json_snippet)
        self.check_size(self.get_size())
        self._note_removals()
        policy = self.update_policy[self.ROLLING_UPDATE]
        if not policy or not self.res_def_changed(prop_diff):
            return self.update_with_template(self.child_template(), self.child_params())
        self.check_pauses(scaling.sizes(self.get_size(), len(self.current_members()), policy[self.MAX_BATCH_SIZE],
                                        policy.get(self.MIN_IN_SERVICE) or 0), policy[self.PAUSE_TIME])
        first = self.next_template() or self.child_template()
        return self.in_batches(self.update_with_template(first, self.child_params()))

    def res_def_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return self.RESOURCE_DEF in prop_diff

    def pause(self) -> float:
        return float((self._policy() or {}).get(self.PAUSE_TIME) or 0)

    def _policy(self) -> Values | None:
        found: Mapping[str, object] | None = self.update_policy[
            self.BATCH_CREATE if self.action == self.CREATE else self.ROLLING_UPDATE]
        return found

    def most_spare(self) -> int:
        policy = self._policy()
        return int(policy[self.MAX_BATCH_SIZE]) if policy else 0

    def next_template(self) -> Template | None:
        policy, current = self._policy(), self.current_members()
        if self.action == self.CREATE:
            size = len(current) + (policy[self.MAX_BATCH_SIZE] if policy else self.get_size())
            if len(current) >= self.get_size():
                return None
            return self._assemble_nested(self._resource_names(min(size, self.get_size())))
        return self._rolled(current, policy) if policy else None

    def _rolled(self, current: dict[str, members.Member], policy: Values) -> Template | None:
        """Return the template of the next batch; None if there is none. Begins with the highest numbers."""
        removed = self._removed()
        kept = {name: member for name, member in current.items() if name not in removed}
        definition, staying = self.get_resource_def(), list(self._resource_names())
        stale = [name for name in reversed(staying) if name in kept and not members.same(
            self.build_resource_definition(name, definition), kept[name])]
        updated = sum(name in kept for name in staying) - len(stale)
        batch = scaling.next_batch(self.get_size(), len(kept), updated, policy[self.MAX_BATCH_SIZE],
                                   policy.get(self.MIN_IN_SERVICE) or 0)
        if batch is None:
            return None if len(kept) == len(current) else self.child_template()
        names = list(self._resource_names(batch.size))
        wanted = self._definitions(names, definition)
        return self.assembled(self.rolled(kept, names, wanted, stale, batch))

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        if name == self.REMOVED_RSRC_LIST:
            return sorted(self._removed(), key=lambda each: (len(each), each))
        return super()._resolve_attribute(name)


def _mentions(value: object, text: str) -> bool:
    match value:
        case str():
            return text in value
        case Mapping():
            return any(_mentions(item, text) for item in value.values())
        case list() | tuple():
            return any(_mentions(item, text) for item in value)
    return False


def _replaced(value: object, old: str, new: str) -> object:
    match value:
        case str():
            return value.replace(old, new)
        case Mapping():
            return {key: _replaced(item, old, new) for key, item in value.items()}
        case list() | tuple():
            return [_replaced(item, old, new) for item in value]
    return value


def resource_mapping() -> dict[str, type[ResourceGroup]]:
    return {NAME: ResourceGroup}
