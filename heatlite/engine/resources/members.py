"""The base class of all groups: a template of members with an output for everything that is read of them, and
nested updates in batches.

Batches keep no progress of their own. What comes next follows from the template the nested stack has now, so a group
goes on where it was when the engine that grew or rolled it is gone.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from heatlite.common import exception, grouputils
from heatlite.common.i18n import _
from heatlite.engine import rsrc_defn
from heatlite.engine.attributes import select_from_attribute
from heatlite.engine.resources.group_outputs import RESOURCE, MemberAttributes, output_name
from heatlite.engine.resources.stack_resource import Cookie, StackResource
from heatlite.language.template import Template
from heatlite.planning import scaling

REFS, REFS_MAP = 'refs', 'refs_map'
VERSION = ('heat_template_version', '2015-04-30')

Member = Mapping[str, object]              # as the template has it


class MemberGroup(StackResource):
    """A nested stack of members."""

    member_attributes = MemberAttributes()

    # --- the template -------------------------------------------------------------------------------------

    def assembled(self, members: Mapping[str, Member], version: tuple[str, str] = VERSION) -> Template:
        keyword, date = version
        return Template({keyword: date, 'resources': dict(members),
                         'outputs': {name: {'value': value} for name, value in self._outputs(list(members))}},
                        source='nested_stack')

    def _outputs(self, names: Sequence[str]) -> Iterator[tuple[str, object]]:
        yield REFS_MAP, {name: {'get_resource': name} for name in names}
        known = set(names)
        yield from self.member_attributes.outputs(
            self.stack.defn.referenced_attributes(self.name), names, self.attributes_schema,
            lambda name: name if name in known else None)

    def nested_template(self) -> Template | None:
        """The one the nested stack has now."""
        template: Template | None = self.stack.nesting.template(self)
        return template

    def current_members(self) -> dict[str, Member]:
        """Members as the nested stack's template has them now."""
        template = self.nested_template() if self.resource_id is not None else None
        return dict(template.section('resources') or {}) if template is not None else {}

    # --- attributes ---------------------------------------------------------------------------------------

    def get_attribute(self, key: str, *path: object) -> object:
        if self.resource_id is None:
            return None
        if key.startswith(RESOURCE):
            return self._of_one(key, path)
        kind = self.member_attributes
        member_path = kind.path(key, path, self.attributes_schema)
        if not member_path:
            if key in kind.mapped or key in kind.listed:
                raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
            return super().get_attribute(key, *path)
        name, rest = kind.output(key, path)
        found = self.get_output(name) if self.has_output(name) else {
            member.name: member.FnGetAtt(*member_path) for member in self._members_in_order()}
        if isinstance(found, Mapping):
            found = self.shown_members(found)
        if isinstance(found, Mapping) and not kind.is_mapped(key):
            found = list(found.values())
        return select_from_attribute(found, rest)

    def _of_one(self, key: str, path: Sequence[object]) -> object:
        name = output_name((key, *path))
        if self.has_output(name):
            return self.get_output(name)
        references = self._references()
        member = key.removeprefix(RESOURCE)
        by_age = self.member_attributes.by_age
        if not by_age and not path and member in references:
            return references[member]
        return grouputils.get_nested_attrs(self, key, by_age, *path)

    def _members_in_order(self) -> list[grouputils.GroupMember]:
        """Return the members by age, the oldest first, or by their names, which are numbers."""
        found = grouputils.get_members(self)
        return found if self.member_attributes.by_age else sorted(
            found, key=lambda member: (len(member.name), member.name))

    def _references(self) -> dict[str, object]:
        """{member: reference}, {} while there are none."""
        found = self.get_output(REFS_MAP) if self.has_output(REFS_MAP) else None
        return dict(found) if isinstance(found, Mapping) else {}

    def shown_members(self, found: Mapping[str, object]) -> Mapping[str, object]:
        """For groups: what their attributes show of a value for each member."""
        return found

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        match name:
            case 'refs_map':
                return dict(self.shown_members(self._references()))
            case 'refs':
                return list(self.shown_members(self._references()).values())
        return None

    # --- batches ------------------------------------------------------------------------------------------

    def next_template(self) -> Template | None:
        """For groups: the next step of what a rolling update or a creation in batches is to reach; None at the end."""
        return None

    def most_spare(self) -> int:
        """For groups: the most members beyond its size while a rolling update runs."""
        return 0

    def pause(self) -> float:
        """For groups: seconds between two batches."""
        return 0

    def made_ready(self, template: Template) -> bool:
        """For groups: whether the nested stack may get this template now; False: ask again."""
        return True

    def in_batches(self, cookie: Cookie) -> Cookie:
        """The cookie of the first batch, so marked that the checks go on with the others, by whatever engine."""
        cookie['wanted'] = {'definition': self.t.to_stored(), 'properties': self.properties_to_store()}
        return cookie

    def check_create_complete(self, cookie: Cookie | None = None) -> bool:
        if cookie is None:
            cookie = self.in_batches(self._cookie_of_what_runs())
        return self._check_batches(cookie)

    def check_update_complete(self, cookie: Cookie | None = None) -> bool:
        return self._check_batches(cookie or self._cookie_of_what_runs())

    def _check_batches(self, cookie: Cookie) -> bool:
        until = cookie.get('until')
        if until is not None and self.runtime.now() < datetime.datetime.fromisoformat(until):
            return False
        # After a pause, too: an engine that died may have begun the next batch, without leaving word of it.
        if not self.is_nested_done(cookie):
            return False
        wanted = cookie.get('wanted')
        if wanted is None:
            return True
        self.take_properties(rsrc_defn.ResourceDefinition.from_stored(
            self.name, wanted['definition'], wanted['properties']))
        template = self.next_template()
        if template is None:
            return True
        if until is None and self.pause():
            cookie['until'] = (self.runtime.now() + datetime.timedelta(seconds=self.pause())).isoformat()
            return False
        if not self.made_ready(template):
            return False
        cookie.pop('until', None)
        cookie.update(self.update_with_template(template, self.child_params()))
        return False

    def rolled(self, current: Mapping[str, Member], names: Sequence[str], wanted: Mapping[str, Member],
               stale: Sequence[str], batch: scaling.Batch) -> dict[str, Member]:
        """The members after a batch. `names`: who there are then; `wanted`: their new definitions. Those that wait for
        a later batch keep their nested stacks, too, whatever has changed in files."""
        taken = set(scaling.chosen(names, current, stale, batch))
        self.waiting = frozenset(stale) - taken
        return {name: wanted[name] if name in taken else current[name] for name in names}

    def check_pauses(self, sizes: Iterable[int], pause: float) -> None:
        """Raise ValueError when pausing alone would take longer than the stack may take."""
        if not pause:
            return
        allowed = self.stack.timeout_secs()
        if any(number * pause >= allowed for number, _size in enumerate(sizes)):
            raise ValueError(_('The current update policy will result in stack update timeout.'))


def same(one: object, other: object) -> bool:
    """Two definitions that are stored alike."""
    return one == other or plain(one) == plain(other)


def plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
