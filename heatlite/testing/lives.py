"""Checks of a type's life: made, read, looked at, left alone, changed, replaced, deleted, deleted when it is gone -
and the same with an engine that is killed at every point.

Each check begins and ends with the thing made as the example says, unless it says otherwise; so a check that fails
takes those behind it only as far as the stack cannot be brought back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import methodcaller

from heatlite.common import exception
from heatlite.common.wording import first_few
from heatlite.engine.resource import Resource
from heatlite.engine.types import source_lines
from heatlite.engine.types.registry import TypeRegistry
from heatlite.testing.clouds import Cloud
from heatlite.testing.examples import Example
from heatlite.testing.report import FAILED, NOT_TRIED, PASSED, WARNED, CheckResult
from heatlite.testing.scenario import ResourceScenario

Said = tuple[str, str] | tuple[str, str, str]
"""(outcome, reason), and FILE:LINE if there is one."""

MOST_POINTS = 400                           # a type with more commits and calls than that in one action waits forever
MOST_SHOWN = 3                               # of points at which something went wrong


class UnmetCondition(Exception):
    """The thing is not as the next check needs it; the text says why."""


class Life:
    def __init__(self, scenario: ResourceScenario, kind: type[Resource], crash_every: int) -> None:
        """`crash_every`: which of the points is tried, 1: all, 0: none."""
        self.scenario, self.kind, self.example = scenario, kind, scenario.example
        self.given: dict[str, object] = dict(scenario.example.properties)     # what it has now
        self._crash_every = crash_every
        self._made = 0                      # things that it is in its cloud, as last given

    # --- one after the other ------------------------------------------------------------------------------

    def create(self) -> Said:
        failure = self.scenario.put(self.given)
        if failure is not None:
            raise UnmetCondition(failure)
        (_action, _status, physical_id), = self.scenario.rows()
        if physical_id is None:
            return WARNED, 'it has no physical id: handle_create should call resource_id_set'
        self._made = len(self.scenario.new_things() or ())
        return PASSED, ''

    def attributes(self) -> Said:
        wrong, partial = [], []
        for name in [*self.kind.attributes_schema, 'show']:
            try:
                json.dumps(self.scenario.asked(methodcaller('FnGetAtt', name)))
            except Exception as error:
                if isinstance(error, exception.InvalidTemplateAttribute) and (
                        self.kind.get_attribute is not Resource.get_attribute):
                    partial.append(name)            # some only exist together with a path
                else:
                    wrong.append((name, f'{name}: {type(error).__name__}: {error}'))
        if not wrong:
            return PASSED, f'not without a path: {", ".join(partial)}' if partial else ''
        return (FAILED, '; '.join(text for _name, text in wrong),
                source_lines.of_entry(self.kind, 'attributes_schema', wrong[0][0]))

    def check(self) -> Said:
        if not hasattr(self.kind, 'handle_check'):
            return NOT_TRIED, 'it has no handle_check'
        failure = self.scenario.act('check')
        return (FAILED, failure) if failure else (PASSED, '')

    def no_op(self) -> Said:
        """Update without a change, compared with what is stored, and with the real thing."""
        for real in (False, True):
            writes, events, rows = self.scenario.writes(), self.scenario.events(), self.scenario.rows()
            failure = self.scenario.put(self.given, converge=real)
            if failure is not None:
                raise UnmetCondition(failure)
            what = 'the real thing, which was not changed' if real else 'its own definition'
            if self.scenario.writes() != writes:
                written = ', '.join(self.scenario.calls.writes[writes:][:MOST_SHOWN])
                return FAILED, f'compared with {what}, an update that changes nothing wrote {written}'
            if self.kind.always_inspected:
                continue                    # the type says so: it looks after others, or is new each time
            if self.scenario.rows()[0][2] != rows[0][2]:
                return FAILED, f'compared with {what}, an update that changes nothing replaced it'
            if self.scenario.events() != events:
                return FAILED, f'compared with {what}, an update that changes nothing called handle_update'
        return PASSED, ''

    def update(self) -> Said:
        changing = {name for name, schema in self.kind.properties_schema.items()
                    if getattr(schema, 'update_allowed', False)}
        if not self.example.update:
            return NOT_TRIED, 'no example' if changing else 'no property is update_allowed'
        silent = []
        for change in self.example.update:
            named = ', '.join(change)
            for name in change:
                if name not in self.kind.properties_schema:
                    raise UnmetCondition(f'{name} is no property')
            before, writes = self.scenario.rows()[0][2], self.scenario.writes()
            self._change(change, named)
            if len(self.scenario.rows()) != 1 or self.scenario.rows()[0][2] != before:
                return FAILED, f'{named}: it was replaced', self._place(change)
            if self._made and self.scenario.writes() == writes:
                silent.append(named)
        self._made = len(self.scenario.new_things() or ())          # a group may have grown
        rest = sorted(changing - {name for change in self.example.update for name in change})
        if silent:
            return WARNED, f'nothing was written for {"; ".join(silent)}'
        return PASSED, f'without example: {", ".join(rest)}' if rest else ''

    def replace(self) -> Said:
        if not self.example.replace:
            return NOT_TRIED, 'no example'
        for change in self.example.replace:
            named = ', '.join(change)
            before = self.scenario.rows()[0][2]
            self._change(change, named)
            rows = self.scenario.rows()
            if len(rows) != 1 or (rows[0][2] == before and before is not None):
                return FAILED, f'{named}: it was not replaced', self._place(change)
            left = self._surplus()
            if left:
                return FAILED, f'{named}: the old one is left: {left}'
        return PASSED, ''

    def delete(self) -> Said:
        failure = self.scenario.put(None)
        if failure is not None:
            raise UnmetCondition(failure)
        left = self.scenario.new_things()
        if left:
            raise UnmetCondition(f'left behind: {_few(left)}')
        if left is None and self.kind.default_client_name:
            return PASSED, 'what is left behind is unknown'
        return PASSED, ''

    def delete_when_gone(self) -> Said:
        self._restore()
        self.scenario.delete_behind_our_back()
        failure = self.scenario.put(None)
        if failure is not None:
            raise UnmetCondition(failure)
        return PASSED, ''

    # --- killed -------------------------------------------------------------------------------------------

    def crash_in_create(self) -> Said:
        def prepare() -> None:
            self._gone()

        said = self._crash(prepare, self.given)
        if said[0] == PASSED and not self._finds and self.scenario.things() is None and self.scenario.calls.writes:
            return WARNED, 'it has no find_existing, and whether something is left behind is unknown'
        return said

    def crash_in_update(self) -> Said:
        """Each change by itself, on top of the ones before; then the same with what refers to it."""
        if not self.example.update:
            return NOT_TRIED, 'no example'
        said = self._crash_in_changes()
        if said[0] == PASSED and self.example.beside:
            self._gone()
            self.scenario.with_beside = True
            try:
                said = self._crash_in_changes()
                self._gone()
            finally:
                self.scenario.with_beside = False
            self._restore()
            self._made = len(self.scenario.new_things() or ())
        return said

    def _crash_in_changes(self) -> Said:
        before = dict(self.example.properties)
        warned = ''
        for change in self.example.update:
            named = ', '.join(change)
            wanted = {**before, **change}
            after = {name: value for name, value in wanted.items() if value is not None}

            def prepare(before: dict[str, object] = before) -> None:
                """As before the change, made anew: much can only be changed in one direction."""
                self._gone()
                self.given = before
                self._restore()

            outcome, text = self._crash(prepare, after)[:2]
            self.given = before = after
            if outcome not in (PASSED, WARNED):
                return outcome, f'{named}: {text}' if outcome == FAILED else text
            warned = warned or (f'{named}: {text}' if outcome == WARNED else '')
        return (WARNED, warned) if warned else (PASSED, '')

    def crash_in_delete(self) -> Said:
        return self._crash(self._restore, None)

    def _crash(self, prepare: Callable[[], None], wanted: Mapping[str, object] | None) -> Said:
        """Kill the engine at each point on the way to `wanted`; another one must get there."""
        if not self._crash_every:
            return NOT_TRIED, 'crashes were not asked for'
        chaos = self.scenario.cluster.chaos
        prepare()
        chaos.begin()
        failure = self.scenario.put(wanted)
        points = chaos.end()
        if failure is not None:
            raise UnmetCondition(failure)
        if wanted is not None:
            self._made = len(self.scenario.new_things() or ())
        if len(points) > MOST_POINTS:
            return WARNED, f'{len(points)} points at which an engine may die are too many to try'
        failed: list[str] = []
        warned: list[str] = []
        for point in points[min(self._crash_every // 2, len(points) - 1)::self._crash_every]:
            prepare()
            chaos.begin([point])
            failure = self.scenario.put(wanted)
            chaos.end()
            if not chaos.killed:                # this run was a little shorter than the first
                continue
            when = f'killed {point[0]} (number {point[1]})'
            severity, text = self._after_crash(wanted, failure)
            if text:
                (failed if severity == FAILED else warned).append(f'{when}: {text}')
        if failed:
            return FAILED, _few(failed)
        return (WARNED, _few(warned)) if warned else (PASSED, '')

    def _after_crash(self, wanted: Mapping[str, object] | None, failure: str | None) -> tuple[str, str]:
        """Return what is wrong, if anything. A type that cannot look for what it made may fail a create, and be made
        anew."""
        if failure is not None:
            again = self.scenario.put(wanted)
            if self._finds or again is not None:
                return FAILED, failure if again is None else f'{failure}; and once more: {again}'
        rows = self.scenario.rows()
        if len(rows) != (wanted is not None):
            return FAILED, f'{len(rows)} rows are left of it'
        surplus = self._surplus(0 if wanted is None else self._made)
        if surplus:
            self._forgive()
            severity = FAILED if self._finds else WARNED
            return severity, f'more than one was made: {surplus}' if wanted is not None else f'left behind: {surplus}'
        if failure is not None:
            return WARNED, 'it failed and was made anew by the next update: it has no find_existing'
        return PASSED, ''

    @property
    def _finds(self) -> bool:
        """It knows what an interrupted create has made."""
        return hasattr(self.kind, 'find_existing') or self.kind.idempotent_create

    # --- helping ------------------------------------------------------------------------------------------

    def _change(self, change: Mapping[str, object], named: str) -> None:
        wanted = {**self.given, **change}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        failure = self.scenario.put(wanted)
        if failure is not None:
            raise UnmetCondition(f'{named}: {failure}')
        self.given = wanted

    def _restore(self) -> None:
        """Make it be there again, as last given."""
        failure = self.scenario.put(self.given)
        if failure is not None:
            raise UnmetCondition(failure)

    def _gone(self) -> None:
        failure = self.scenario.put(None)
        if failure is not None:
            raise UnmetCondition(failure)

    def _surplus(self, expected: int | None = None) -> str:
        """Return what there is beyond the things of one, '' for nothing."""
        found = self.scenario.new_things()
        if found is None or len(found) <= (self._made if expected is None else expected):
            return ''
        return _few(found)

    def _forgive(self) -> None:
        """Remove what is left behind now: it was reported, and is no surplus of the next run."""
        failure = self.scenario.put(None)
        if failure is not None:
            raise UnmetCondition(failure)
        self.scenario.before = self.scenario.things()

    def _place(self, change: Mapping[str, object]) -> str:
        return source_lines.of_entry(self.kind, 'properties_schema', next(iter(change)))


def _few(items: Sequence[object]) -> str:
    return first_few(items, MOST_SHOWN, '; ')


CHECKS: Mapping[str, Callable[[Life], Said]] = {
    'create': Life.create, 'attributes read': Life.attributes, 'check': Life.check, 'no-op': Life.no_op,
    'update': Life.update, 'replace': Life.replace, 'delete': Life.delete, 'delete when gone': Life.delete_when_gone,
    'crash in create': Life.crash_in_create, 'crash in update': Life.crash_in_update,
    'crash in delete': Life.crash_in_delete}


def run(type_name: str, kind: type[Resource], example: Example | None, cloud: Cloud | None,
        register: Callable[[TypeRegistry], None], crash_every: int) -> Iterator[CheckResult]:
    """Yield the result of each check. `cloud` None with an example: it could not be started."""
    if example is None or cloud is None:
        for check in CHECKS:
            yield CheckResult(type_name, check, NOT_TRIED, 'no example')
        return
    with ResourceScenario(type_name, example, cloud, register) as scenario:
        broken = _attempt(scenario.prepare)
        if broken is not None:
            yield from _not_tried(type_name, f'what it needs could not be made: {broken}')
            return
        life = Life(scenario, kind, crash_every)
        for check, method in CHECKS.items():
            if broken is not None:
                yield CheckResult(type_name, check, NOT_TRIED, broken)
                continue
            try:
                outcome, reason, *where = method(life)
                yield CheckResult(type_name, check, outcome, reason, *where)
            except Exception as error:          # Broken, a refusal by the API, an engine that hangs
                reason = str(error) if isinstance(error, UnmetCondition) else f'{type(error).__name__}: {error}'
                yield CheckResult(type_name, check, FAILED, reason)
                broken = f'"{check}" failed'
        if broken is None:
            scenario.clear()


def _attempt(act: Callable[[], str | None]) -> str | None:
    try:
        return act()
    except Exception as error:
        return f'{type(error).__name__}: {error}'


def _not_tried(type_name: str, reason: str) -> Iterator[CheckResult]:
    for place, check in enumerate(CHECKS):
        yield CheckResult(type_name, check, NOT_TRIED if place else FAILED, reason)
