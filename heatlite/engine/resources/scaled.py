"""Groups whose members have no numbers: they grow by new ones and shrink by the oldest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict

from heatlite.common import exception, grouputils, short_id, turns
from heatlite.common.exception import NoActionRequired
from heatlite.common.i18n import _
from heatlite.engine.notify.notifications import Scaling
from heatlite.engine.resources import cooldown, group_outputs, members
from heatlite.engine.resources.cooldown import Seconds
from heatlite.engine.resources.stack_resource import Cookie
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.template import Template
from heatlite.planning import scaling

ROLLING_SIZE = 'rolling_size'           # key of the data: what a rolling update of a group without fixed size ends with
RESIZING = 'resizing'                   # key of the data: the adjustment that is under way, as JSON
RESIZED_FOR = 'resized_for'             # key of the data: {policy: the last of its signals that was heeded}, as JSON
POLL_SECONDS = 1.0                      # between two polls whether a resize is over

Signalled = tuple[str, str]
"""The name of a policy and what tells this signal of it from all others."""



class Adjustment(TypedDict):
    """A change of size that is under way, as stored. `asked_by`: the policy and the signal."""

    before: int
    size: int
    why: str
    cooldown: Seconds
    generation: int
    kind: str
    adjustment: float
    asked_by: Signalled | None


class ScaledGroup(members.MemberGroup):
    """Subclasses say what a member is, how many there shall be, and how definitions are rolled out."""

    member_attributes = group_outputs.MemberAttributes(by_age=True)
    goal: int | None = None             # of the rolling update under way

    # --- for subclasses to answer -------------------------------------------------------------------------

    def member_definition(self) -> members.Member:
        """Return the definition of a member, as the template of the group has it."""
        raise NotImplementedError(type(self).__name__)

    def get_size(self) -> int:
        """How many there shall be at first."""
        raise NotImplementedError(type(self).__name__)

    def wanted_size(self, current: int) -> int:
        """How many there shall be after an update of the stack."""
        return self.get_size()

    def rolling_policy(self) -> tuple[int, int, float] | None:
        """(largest batch, members in service, seconds of pause), None: who is there keeps his definition."""
        return None

    def definition_changed(self, prop_diff: Mapping[str, object]) -> bool:
        return False

    # --- members ------------------------------------------------------------------------------------------

    def ordered_members(self, include_failed: bool = True) -> dict[str, members.Member]:
        """Return the members in the order in which they would be removed: failed ones first, then by age."""
        known = self.current_members()
        if not known:
            return {}
        inspector = grouputils.GroupInspector.from_parent_resource(self)
        ordered = [name for name in inspector.member_names(include_failed=True) if name in known]
        failed = set(ordered) - set(inspector.member_names(include_failed=False))
        listed = set(ordered)
        missing = [name for name in turns.paced(known) if name not in listed]
        return {name: known[name] for name in [*ordered, *missing] if include_failed or name not in failed}

    def _new_name(self) -> str:
        turns.spend()
        return short_id.get_id(self.runtime.uuid())

    def _names_of(self, size: int, ordered: list[str]) -> list[str]:
        self.check_size(size)
        kept = ordered[len(ordered) - size:] if size < len(ordered) else ordered
        return [*kept, *self._new_names(size - len(kept))]

    def _new_names(self, count: int) -> list[str]:
        """Return new names in the order in which members of one age are listed: the first update changes no list."""
        return sorted(self._new_name() for _place in range(count))

    def sized(self, size: int) -> Template:
        """Return the template with `size` members. Those that remain have their present definitions."""
        known = self.ordered_members()
        new = self.member_definition()
        return self.assembled({name: known.get(name, new) for name in self._names_of(size, list(known))})

    def child_template(self) -> Template:
        return self.sized(self.wanted_size(grouputils.get_size(self)) if self.resource_id else self.get_size())

    # --- life ---------------------------------------------------------------------------------------------

    def handle_create(self) -> Cookie:
        self.check_size(self.get_size())
        new = self.member_definition()
        return self.create_with_template(
            self.assembled(dict.fromkeys(self._new_names(self.get_size()), new)), self.child_params())

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> Cookie:
        self.take_properties(json_snippet)
        size, policy = self._goal(prop_diff)
        return self.resize(size) if policy is None else self._begin_rolling(size, policy)

    def _goal(self, prop_diff: Mapping[str, object]) -> tuple[int, tuple[int, int, float] | None]:
        """How many there shall be, and the policy if members are to get a new definition."""
        interrupted = self.data().get(ROLLING_SIZE)     # then there may be spare members, and some of either definition
        current = grouputils.get_size(self) if interrupted is None else int(interrupted)
        size = self.wanted_size(current)
        self.check_size(size)
        return size, self.rolling_policy() if self.definition_changed(prop_diff) or interrupted else None

    def preview_template(self, prop_diff: Mapping[str, object]) -> Template:
        """New members have other names when they are made."""
        if self.resource_id is None:
            return self.sized(self.get_size())
        size, policy = self._goal(prop_diff)
        if policy is None:
            return self.sized(size)
        self.goal = size
        found: dict[str, members.Member] | None = self.ordered_members(include_failed=False)
        known: dict[str, members.Member] = {}
        while found is not None:
            known = found
            found = self._next_members(known, policy)
        return self.assembled(known)

    def is_announced(self) -> bool:
        """For groups: whether those who use the members know them as they are now; False: ask again."""
        return True

    def resize(self, capacity: int) -> Cookie:
        """The cookie of the nested update."""
        return self.update_with_template(self.sized(capacity), self.child_params())

    # --- rolling updates ----------------------------------------------------------------------------------

    def _begin_rolling(self, size: int, policy: tuple[int, int, float]) -> Cookie:
        self.goal = size
        largest, in_service, pause = policy
        self.check_pauses(scaling.sizes(self.goal, grouputils.get_size(self), largest, in_service), pause)
        if self.resource_id is not None and self.data().get(ROLLING_SIZE) != str(self.goal):
            self.data_set(ROLLING_SIZE, str(self.goal))
            self.store_data()                                   # before the first batch
        first = self.next_template() or self.sized(self.goal)
        cookie = self.in_batches(self.update_with_template(first, self.child_params()))
        cookie['wanted']['size'] = self.goal
        return cookie

    def pause(self) -> float:
        policy = self.rolling_policy()
        return policy[2] if policy is not None else 0

    def _check_batches(self, cookie: Cookie) -> bool:
        wanted = cookie.get('wanted')
        self.goal = None if wanted is None else wanted.get('size')
        try:
            done = super()._check_batches(cookie)
        except exception.HeatException:
            self.data_delete(ROLLING_SIZE)
            raise
        if done:
            self.data_delete(ROLLING_SIZE)
        return done

    def most_spare(self) -> int:
        policy = self.rolling_policy()
        return 0 if policy is None else policy[0]

    def next_template(self) -> Template | None:
        policy = self.rolling_policy()
        if policy is None or self.goal is None:
            return None
        known = self.ordered_members(include_failed=False)
        found = self._next_members(known, policy)
        if found is None:
            return None if len(known) == len(self.current_members()) else self.sized(self.goal)
        return self.assembled(found)

    def _next_members(self, known: Mapping[str, members.Member],
                      policy: tuple[int, int, float]) -> dict[str, members.Member] | None:
        """`known` after another batch; None when they are as they shall be."""
        largest, in_service, _pause = policy
        goal, new = self.goal or 0, self.member_definition()
        stale = [name for name, member in turns.paced(known.items()) if not members.same(member, new)]
        batch = scaling.next_batch(goal, len(known), min(len(known) - len(stale), goal), largest, in_service)
        if batch is None:
            return None
        # Old definitions go first when it shrinks: the new ones are why all this is done.
        old = set(stale)
        names = self._names_of(batch.size, [*stale, *(name for name in known if name not in old)])
        return self.rolled(known, names, dict.fromkeys(names, new), stale, batch)

    # --- attributes ---------------------------------------------------------------------------------------

    def shown_members(self, found: Mapping[str, object]) -> Mapping[str, object]:
        """Return those of members that did not fail, oldest first, as `current_size` counts them."""
        return {name: found[name] for name in grouputils.get_member_names(self) if name in found}

    def _resolve_attribute(self, name: str) -> object:
        if name == 'current_size':
            return grouputils.get_size(self)
        return super()._resolve_attribute(name)


class AdjustedGroup(cooldown.CooldownMixin, ScaledGroup):
    """A group that policies make larger and smaller."""

    def bounds(self) -> tuple[int, int | None, int | None]:
        """(least, most, wanted) number of members."""
        raise NotImplementedError(type(self).__name__)

    def group_cooldown(self) -> Seconds:
        raise NotImplementedError(type(self).__name__)

    def get_size(self) -> int:
        least, _most, wanted = self.bounds()
        return least if wanted is None else wanted

    def wanted_size(self, current: int) -> int:
        least, most, wanted = self.bounds()
        return scaling.adjusted(current, current if wanted is None else wanted, scaling.EXACT, None, least, most)

    def check_create_complete(self, cookie: Cookie | None = None) -> bool:
        done = super().check_create_complete(cookie)
        if done:
            self._note_size()
        return done

    def check_update_complete(self, cookie: Cookie | None = None) -> bool:
        done = super().check_update_complete(cookie)
        if done:
            self._note_size()
        return done

    def _note_size(self) -> None:
        self._finished_scaling(self.group_cooldown(), f'ExactCapacity : {grouputils.get_size(self)}')

    # --- adjusting ----------------------------------------------------------------------------------------

    def adjust(self, adjustment: float, adjustment_type: str = scaling.CHANGE, min_adjustment_step: int | None = None,
               cooldown: Seconds = None, asked_by: Signalled | None = None) -> None:
        """Return when the group has its new size. Raises NoActionRequired when there is nothing to do or it is not
        the time, and what the nested stack fails of.

        What is under way is noted first, and with its end whose signal it was: a signal handled again after a crash
        goes on with it, or finds that all is done. It also ends what a signal of another policy had begun, and that is
        all then, as in any other scaling activity.
        """
        if self.status != self.COMPLETE or self.name in self.stack.resizing:
            raise NoActionRequired(self.name, 'scaling activity')
        if asked_by is not None and self._heeded().get(asked_by[0]) == asked_by[1]:
            return
        self.stack.resizing.add(self.name)
        self.is_signalled = True
        try:
            begun = self.data().get(RESIZING)
            self._adjust_to(json.loads(begun) if begun else self._begin_adjustment(
                adjustment, adjustment_type, min_adjustment_step,
                self.group_cooldown() if cooldown is None else cooldown, asked_by))
        finally:
            self.stack.resizing.discard(self.name)

    def _heeded(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.data().get(RESIZED_FOR) or '{}')
        return found

    def _begin_adjustment(self, adjustment: float, kind: str, least_step: int | None, cooldown: Seconds,
                          asked_by: Signalled | None) -> Adjustment:
        least, most, _wanted = self.bounds()
        current = grouputils.get_size(self)
        size = scaling.adjusted(current, adjustment, kind, least_step, least, most)
        if size == current:
            raise NoActionRequired(self.name, 'no change')
        nested = self.stack.nesting.find(self)
        if nested is None:
            raise NoActionRequired(self.name, 'no group')
        noted: Adjustment = {
            'before': current, 'size': size, 'why': f'{kind} : {adjustment}', 'cooldown': cooldown,
            'generation': nested.generation, 'kind': kind, 'adjustment': adjustment, 'asked_by': asked_by}
        self._refuse_scaling(self.metadata_get(refresh=True), cooldown)
        self.data_set(RESIZING, json.dumps(noted))
        self._check_scaling_allowed(cooldown)           # durable, together with the note
        self._report(noted, 'start', current, _('Start resizing the group %s') % self.FnGetRefId())
        return noted

    def _adjust_to(self, noted: Adjustment) -> None:
        """Raises DatabaseUnavailable: the signal is handled again then, and goes on with what is noted. So does the
        next owner of the stack, if this engine ends."""
        try:
            self._bring_to(noted)
        except exception.DatabaseUnavailable:
            raise
        except Exception as error:
            self._end_adjustment(noted)
            self._report(noted, 'error', noted['before'], str(error))
            raise
        self._end_adjustment(noted)
        self._report(noted, 'end', noted['size'], _('End resizing the group %s') % self.FnGetRefId())

    def _report(self, noted: Adjustment, phase: str, capacity: int, message: str) -> None:
        """Send a notification of what is stored."""
        self.stack.tell_scaling(Scaling(phase, str(self.FnGetRefId()), noted['kind'], noted['adjustment'], capacity,
                                        message))

    def _bring_to(self, noted: Adjustment) -> None:
        try:
            nested = self.stack.nesting.find(self)
            if nested is not None and nested.generation == noted['generation']:
                self._update_to(noted['size'])
            else:
                self._await(self._cookie_of_what_runs())
            while self._is_overtaken(noted['size']):
                self._update_to(noted['size'])
        finally:
            self.forget_nested()

    def _update_to(self, size: int) -> None:
        template = self.sized(size)
        while not self.made_ready(template):
            self.runtime.sleep(POLL_SECONDS)
        self._await(self.update_with_template(template, self.child_params()))

    def _await(self, cookie: Cookie) -> None:
        while not self.is_nested_done(cookie) or not self.is_announced():
            self.runtime.sleep(POLL_SECONDS)

    def _is_overtaken(self, size: int) -> bool:
        """Whether an action of the stack that makes no members came before the adjustment, or took its place."""
        nested = self.stack.nesting.find(self)
        return (nested is not None and nested.action in (self.CHECK, self.SUSPEND, self.RESUME)
                and grouputils.get_size(self) != size)

    def _end_adjustment(self, noted: Adjustment) -> None:
        """Store that nothing is under way any more, and whose signal it was. Durable when it returns."""
        self.data_delete(RESIZING)
        asked_by = noted.get('asked_by')
        if asked_by is not None:
            policy, signal = asked_by
            self.data_set(RESIZED_FOR, json.dumps({**self._heeded(), policy: signal}))
        self._finished_scaling(noted['cooldown'], noted['why'],
                               size_changed=grouputils.get_size(self) != noted['before'])
