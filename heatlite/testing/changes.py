"""Each updatable property of a type changed alone, and beside a replacement of what the resource depends on.

A change is a template before and one after, in which one property has another valid value. It passes when the update
ends well, the resource is not replaced, and the cloud then holds what it holds when the resource is created with the
new value; and when the same is so after the engine was killed on the way, at whichever point. It can be made by a plan,
which then has to say what was done and which property replaces the resource; and a second one has nothing to do.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from heatlite.common.wording import first_few
from heatlite.engine.properties import Schema
from heatlite.engine.resource import Resource
from heatlite.engine.types import source_lines
from heatlite.engine.types.registry import TypeRegistry
from heatlite.testing import another
from heatlite.testing.another import NONE_NAMED, Named
from heatlite.testing.clouds import Cloud, State
from heatlite.testing.examples import Example, referred
from heatlite.testing.report import FAILED, NOT_TRIED, PASSED, WARNED, CheckResult
from heatlite.testing.scenario import ResourceScenario, not_planned, planned

CHECKS = (EACH, CRASH) = ('each property', 'crash in each property')
OTHER = '_other'                            # ends the name of a second resource like one of the example
MOST_SHOWN = 3
NOT_ASKED = 'crashes were not asked for'
MOST_POINTS = 400
RANDOM = [(re.compile(pattern), instead) for pattern, instead in (
    (r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b', '<id>'),
    (r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?', '<time>'),
    (r'(?<=-)[a-z0-9]{12}\b', '<random>'),                   # the end of a physical resource name
    (r'fa:16:3e:00:(?!77)[0-9a-f:]{5}', '<mac>'),
    (r'(temp_url_sig|temp_url_expires|Signature|AWSAccessKeyId|SignatureDate)(=|%3D)[^&"\\]+', r'<signature>'),
    (r'(?<=://<address>:)\d+', '<port>'),
    (r'^[0-9a-f]{11}$', '<password>'),
    (r'^(CREATE|UPDATE|RESUME)_COMPLETE$', '<COMPLETE>'))]
PASSING = frozenset({                       # fields that say how often or when an object was changed, and counters
    'revision_number', 'updated_at', 'updated', 'created_at', 'created', 'timestamp', 'serial', 'version', 'revision',
    'next', 'taken', 'standard_attr_id', 'actions', 'date', 'etag', 'last_modified',
    'OS-EXT-SRV-ATTR:instance_name', 'OS-EXT-SRV-ATTR:reservation_id'})
SEGMENTS = frozenset({'segmentation_id', 'provider:segmentation_id'})     # the cloud chooses one where none is given
ADDRESS = re.compile(r'\b\d{1,3}(?:[.-]\d{1,3}){3}\b')                   # the same; also as part of a host's name
BOUNDARY = re.compile(r'={15}\d+==')
USER_DATA = 'OS-EXT-SRV-ATTR:user_data'
MINUTES = 10                                # that an update may take: one that is refused again and again ends by then
SETTLING = 600.0                            # seconds in which the cloud ends what it does by itself


@dataclass(frozen=True)
class ChangedProperty:
    """One property of the resource has another value."""

    name: str
    before: Mapping[str, object]               # all properties
    after: Mapping[str, object]
    extra: Mapping[str, object] = field(default_factory=dict)      # resources besides those of the example
    replaces: bool = False
    leaves: tuple[str, ...] = ()            # kinds of objects that stay until the resource is deleted
    unlike: frozenset[str] = frozenset()    # fields in which the changed object differs from one made anew
    again: bool = False                     # each later update does it again


@dataclass(frozen=True)
class Untried:
    name: str
    reason: str


def of(kind: type[Resource], example: Example, named: Named = NONE_NAMED, *,
       fixed: bool = False) -> Iterator[ChangedProperty | Untried]:
    """One for each property that may be updated. `named`: values for custom constraints that ask a service. `fixed`:
    also for the properties whose change replaces the resource."""
    for name, schema in kind.properties_schema.items():
        is_fixed = not getattr(schema, 'update_allowed', False)
        if is_fixed and not fixed:
            continue
        said = example.changes.get(name, {})
        if 'untried' in said:
            yield Untried(name, said['untried'])
            continue
        before = {**example.properties, **said.get('with', {}), **({name: said['from']} if 'from' in said else {})}
        before = {each: value for each, value in before.items() if value is not None}
        extra = dict(said.get('needs', {}))
        try:
            to = said['to'] if 'to' in said else _other(
                name, Schema.from_legacy(schema), before.get(name), example, extra, named)
        except another.NoValue as problem:
            yield Untried(name, str(problem))
            continue
        after = {each: value for each, value in {**before, name: to}.items() if value is not None}
        yield ChangedProperty(name, before, after, extra, is_fixed or 'replaces' in said, tuple(said.get('leaves', ())),
                              frozenset(said.get('unlike', ())), 'again' in said)


def _other(name: str, schema: Schema, given: object, example: Example, extra: dict[str, object],
           named: Named) -> object:
    """From the example's own changes, a second resource like the one referred to, or what the schema allows."""
    for change in (*example.update, *example.replace):
        if name in change and change[name] != given:
            return change[name]
    return _like(given, example, extra) or another.value(name, schema, given, named)


def _like(given: object, example: Example, extra: dict[str, object]) -> object:
    """Return the value with its first reference leading to a second resource; None when there is no reference in it."""
    name = another.references(given)
    if name is not None and name in example.needs:
        extra[name + OTHER] = example.needs[name]
        return {'get_resource': name + OTHER}
    match given:
        case dict():
            pairs = [(key, _like(value, example, extra)) for key, value in given.items()]
            return {**given, **{key: value for key, value in pairs if value is not None}} if any(
                value is not None for _key, value in pairs) else None
        case list():
            items = [_like(value, example, extra) for value in given]
            return [new if new is not None else old for new, old in zip(items, given, strict=True)] if any(
                new is not None for new in items) else None
    return None


class Trial:
    """All changes of one type, in a scenario that is built anew when a change leaves it unusable."""

    def __init__(self, type_name: str, kind: type[Resource], example: Example, cloud: Cloud,
                 register: Callable[[TypeRegistry], None], crash_every: int, named: Named = NONE_NAMED, *,
                 beside: bool = True, by_plans: bool = False) -> None:
        """`crash_every`: of lives; `named`: of `of`. `beside`: also beside a replacement of what it depends on.
        `by_plans`: changes are planned and the plans applied, those of the example that replace it included."""
        self._with_neighbours, self._by_plans = beside, by_plans
        self.type_name, self.kind, self.example, self.cloud = type_name, kind, example, cloud
        self._register, self._every, self._named = register, crash_every, named
        self._scenario: ResourceScenario | None = None
        self._replaceable: dict[str, str | None] = {}       # neighbour -> why it cannot be replaced
        self.points = self.kills = self.lives = 0
        self._seeds: Counter[str] = Counter()
        self._base: Counter[str] = Counter()                # how many objects there are without the resource
        self._given: Mapping[str, object] | None = None        # properties in the last template

    def finish(self) -> None:
        """Remove what is left, in a cloud that cannot be reset, too."""
        if self._scenario is not None:
            with suppress(Exception):
                self._put(self._scenario, None, {})
                self._scenario.clear()
        self.close()

    def close(self) -> None:
        if self._scenario is not None:
            self._scenario.__exit__(None, None, None)
            self._scenario = None
        self.cloud.reset()

    def run(self) -> Iterator[CheckResult]:
        """For each property a result of both checks."""
        for change in self._changes():
            if isinstance(change, Untried):
                yield from (self._result(check, change.name, NOT_TRIED, change.reason) for check in CHECKS)
                continue
            yield self._tried(EACH, change, partial(self._each, change))
            yield self._tried(CRASH, change, partial(self._crash, change)) if self._every else (
                self._result(CRASH, change.name, NOT_TRIED, NOT_ASKED))

    def _changes(self) -> Iterator[ChangedProperty | Untried]:
        yield from of(self.kind, self.example, self._named)
        for given in self.example.replace if self._by_plans else ():
            after = {**self.example.properties, **given}
            yield ChangedProperty(', '.join(given), self.example.properties, {
                name: value for name, value in after.items() if value is not None}, replaces=True)

    def _tried(self, check: str, change: ChangedProperty, act: Callable[[], tuple[str, str]]) -> CheckResult:
        try:
            return self._result(check, change.name, *act())
        except Exception as error:          # a refusal by the API, an engine that hangs
            self.close()
            return self._result(check, change.name, FAILED, str(error) if isinstance(error, BrokenLife) else
                                f'{type(error).__name__}: {error}')

    def _result(self, check: str, name: str, outcome: str, reason: str) -> CheckResult:
        return CheckResult(self.type_name, check, outcome, f'{name}: {reason}' if reason else name,
                           source_lines.of_entry(self.kind, 'properties_schema', name) if outcome == FAILED else '')

    # --- the checks -----------------------------------------------------------------------------------------

    def _each(self, change: ChangedProperty) -> tuple[str, str]:
        """Without a kill: alone, and beside a replacement of each neighbour."""
        findings = []
        for neighbour in self._ways(change):
            wrong = self._once(change, neighbour)[0]
            if wrong:
                findings.append(f'{_beside(neighbour)}{wrong}')
        refused = [f'{name} cannot be replaced here: {why}' for name, why in self._replaceable.items()
                   if why and name in self._neighbours(change)]
        return (FAILED, '; '.join(findings)) if findings else (PASSED, '; '.join(refused))

    def _crash(self, change: ChangedProperty) -> tuple[str, str]:
        """Check the same with the engine killed at the points of the update."""
        findings: list[str] = []
        for neighbour in self._ways(change):
            wrong, wanted, points = self._once(change, neighbour)
            if wrong:
                raise BrokenLife(f'{_beside(neighbour)}{wrong}')
            if len(points) > MOST_POINTS:
                return WARNED, f'{len(points)} points at which an engine may die are too many to try'
            self.points += len(points)
            for point in points[min(self._every // 2, len(points) - 1)::self._every]:
                try:
                    wrong = self._killed(change, neighbour, point, wanted)
                except Exception as error:
                    self.close()
                    wrong = str(error) if isinstance(error, BrokenLife) else f'{type(error).__name__}: {error}'
                if wrong:
                    findings.append(f'{_beside(neighbour)}killed {point[0]} (number {point[1]}): {wrong}')
        return (FAILED, _few(findings)) if findings else (PASSED, '')

    def _ways(self, change: ChangedProperty) -> Iterator[str | None]:
        yield None
        for name in self._neighbours(change) if self._with_neighbours else ():
            if name not in self._replaceable:
                self._replaceable[name] = self._why_not(name)
            if self._replaceable[name] is None:
                yield name

    def _neighbours(self, change: ChangedProperty) -> list[str]:
        """Return what the resource refers to, before and after."""
        after = set(referred(change.after))
        return [name for name in dict.fromkeys(referred(change.before))
                if name in self.example.needs and name in after]

    def _why_not(self, neighbour: str) -> str | None:
        """Why it cannot be replaced while the resource stays as it is, or None."""
        try:
            scenario = self._made(self.example.properties, {})
            before = scenario.row_ids(neighbour)
            scenario.mark_unhealthy(neighbour)
            self._put(scenario, self.example.properties, {})
            if scenario.row_ids(neighbour) == before:
                return 'it stays as it is'
        except Exception as error:
            self.close()
            return str(error) if isinstance(error, BrokenLife) else f'{type(error).__name__}: {error}'
        return None

    def _once(self, change: ChangedProperty, neighbour: str | None) -> tuple[str, Counter[str], list[tuple[str, int]]]:
        """Return what is wrong with the update; what is there after it, the points on the way."""
        if change.before == change.after:
            raise BrokenLife('the value is the same before and after')
        self.lives += 1
        scenario = self._made(change.after, change.extra)
        fresh = self._state(scenario, change.leaves)
        scenario = self._made(change.before, change.extra)
        if neighbour is not None:
            scenario.mark_unhealthy(neighbour)
        before = scenario.row_ids()
        self._given, scenario.extra = change.after, change.extra
        plan = scenario.plan(change.after) if self._by_plans else None
        scenario.cluster.chaos.begin()
        failure = scenario.put(change.after) if plan is None else scenario.apply(plan)
        points = scenario.cluster.chaos.end()
        if failure is not None:
            raise BrokenLife(failure)
        rows, there = scenario.row_ids(), self._state(scenario, change.leaves)
        if len(rows) != 1:
            return f'{len(rows)} rows are left of it', there, points
        if not change.replaces and neighbour is None and rows != before:
            return 'it was replaced', there, points
        if change.replaces and rows == before:
            return 'it was not replaced', there, points
        wrong = _difference(fresh, there, change.unlike)
        if plan is not None:
            wrong = not_planned(plan, 'update' if rows == before else 'replace') or wrong
        if not wrong and self._by_plans and neighbour is None:
            again = planned(scenario.plan(change.after, refresh=True))
            if bool(again) != change.again:
                wrong = f'a plan of the same template that looks at the cloud is {again or "empty"}'
        if not wrong:
            self._put(scenario, None, {})
            left = self._kinds(scenario) - self._base
            wrong = f'left behind: {_few([f"{count} {kind}" for kind, count in left.items()])}' if left else ''
        return wrong, there, points

    def _killed(self, change: ChangedProperty, neighbour: str | None, point: tuple[str, int],
                wanted: Counter[str]) -> str:
        scenario = self._made(change.before, change.extra)
        if neighbour is not None:
            scenario.mark_unhealthy(neighbour)
        scenario.cluster.chaos.begin([point])
        failure = self._failure(scenario, change.after, change.extra)
        scenario.cluster.chaos.end()
        if not scenario.cluster.chaos.killed:         # this run was a little shorter than the first
            return ''
        self.kills += 1
        if failure is not None:
            raise BrokenLife(failure)
        rows = scenario.row_ids()
        if len(rows) != 1:
            raise BrokenLife(f'{len(rows)} rows are left of it')
        wrong = _difference(wanted, self._state(scenario, change.leaves))
        if wrong:
            self.close()                        # what is left behind is reported once
        return wrong

    # --- the scenario ---------------------------------------------------------------------------------------

    def _made(self, properties: Mapping[str, object], extra: Mapping[str, object]) -> ResourceScenario:
        """Return the scenario with the resource made anew, and what it depends on as before."""
        if self._scenario is None:
            self.cloud.reset()
            self._scenario = ResourceScenario(self.type_name, self.example, self.cloud, self._register)
            self._scenario.__enter__()
            self._scenario.minutes = MINUTES
            self._seeds = Counter(_objects(self._scenario.state(), Known({}, '', self.example.leaves)))
            failure = self._scenario.prepare()
            if failure is not None:
                raise BrokenLife(f'what it needs could not be made: {failure}')
            self._base = self._kinds(self._scenario)
        self._put(self._scenario, None, {})
        self._put(self._scenario, properties, extra)
        return self._scenario

    def _put(self, scenario: ResourceScenario, properties: Mapping[str, object] | None,
             extra: Mapping[str, object]) -> None:
        failure = self._failure(scenario, properties, extra)
        if failure is not None:
            raise BrokenLife(failure)

    def _failure(self, scenario: ResourceScenario, properties: Mapping[str, object] | None,
                 extra: Mapping[str, object]) -> str | None:
        self._given, scenario.extra = properties, extra
        return scenario.put(properties)

    def _kinds(self, scenario: ResourceScenario) -> Counter[str]:
        """How many objects of each kind there are."""
        state = scenario.state() or {'objects': {}}
        return Counter({kind: len(objects) for kind, objects in state['objects'].items()
                        if kind not in self.example.leaves})

    def _state(self, scenario: ResourceScenario, leaves: tuple[str, ...] = ()) -> Counter[str]:
        """Return what the cloud holds besides what it held at its start, without what differs from run to run."""
        with scenario.calls.unwatched():
            self.cloud.advance(SETTLING)
        named: dict[str, list[str]] = {}
        for name, rows in sorted(scenario.cluster.states(scenario.stack_id).items()):
            for _action, _status, physical_id in rows:
                named.setdefault(str(physical_id), []).append(name)
        names = {physical_id: f'<{" ".join(found)}>' for physical_id, found in named.items()}
        given = json.dumps(scenario.template(None)['resources']) + json.dumps(self._given)
        return Counter(_objects(scenario.state(), Known(names, given, (*self.example.leaves, *leaves)))) - self._seeds


class BrokenLife(Exception):
    """A life cannot go on; the text says why."""


def _objects(state: State | None, known: Known) -> Iterator[str]:
    """One line for each object and each quota: its kind and its fields, sorted."""
    if state is None:
        return
    for kind, objects in state['objects'].items():
        for each in objects if kind not in known.leaves else ():
            yield f'{kind} {json.dumps(_plain(each, known), sort_keys=True)}'
    rest = {key: value for key, value in state.items() if key != 'objects'}
    yield from (f'{key} {inner} {json.dumps(_plain(value, known), sort_keys=True)}'
                for key, values in rest.items() for inner, value in (values or {}).items())


@dataclass(frozen=True)
class Known:
    """What a description of an object keeps: names of the resources by physical id, numbers the template gives."""

    names: Mapping[str, str]
    given: str
    leaves: tuple[str, ...] = ()            # kinds that are not looked at
    texts: dict[tuple[str, bool], str] = field(default_factory=dict, compare=False)     # results of `_text`


def _plain(value: object, known: Known, key: str = '') -> object:
    """Without ids, times, empty values and what the cloud chose; a name for the id of a resource of the stack."""
    match value:
        case str():
            if value.startswith('{"'):
                try:
                    return _plain(json.loads(value), known)
                except ValueError:
                    pass
            return _text(value, known, key)
        case {'name': 'deploy_action', **_rest}:        # the last action of the deployment, which differs by design
            return {'name': 'deploy_action'}
        case dict():
            return {_text(name, known, ''): _plain(each, known, name) for name, each in value.items()
                    if name not in PASSING and each not in (None, '', [], {})}
        case list():
            plain = [_plain(each, known) for each in value]
            ids = [each for each in plain if isinstance(each, str) and each.startswith('<')]
            return sorted(ids) if len(ids) == len(plain) else plain       # in the order in which objects were made
        case int() if key in SEGMENTS and not re.search(rf'segmentation_id": "?{value}\b', known.given):
            return '<chosen>'
    return value


def _text(text: str, known: Known, key: str) -> str:
    """Return the replaced text: the same few texts, names of fields above all, occur in most objects of a cloud, and
    each is replaced once."""
    if text in known.names:
        return known.names[text]
    is_user_data = key == USER_DATA
    found = known.texts.get((text, is_user_data))
    if found is None:
        found = known.texts[text, is_user_data] = _replaced(text, known, is_user_data)
    return found


def _replaced(text: str, known: Known, is_user_data: bool) -> str:
    if is_user_data:
        text = BOUNDARY.sub('<boundary>', base64.b64decode(text).decode(errors='replace'))
    for pattern, instead in RANDOM:
        text = pattern.sub(partial(_known_or, known.names, instead), text)
    return ADDRESS.sub(lambda found: found.group() if found.group().replace('-', '.') in known.given else '<address>',
                       text)


def _known_or(names: Mapping[str, str], instead: str, found: re.Match[str]) -> str:
    return names.get(found.group(), instead)


def _difference(wanted: Counter[str], found: Counter[str], but: frozenset[str] = frozenset()) -> str:
    """'' for none; else what is missing and what is there besides. `but`: names of fields that may differ."""
    missing, surplus = list((wanted - found).elements()), list((found - wanted).elements())
    findings = []
    for line in missing[:]:
        kind, _space, text = line.partition(' ')
        twin = next((each for each in surplus if each.partition(' ')[0] == kind), None)
        if twin is None or not text.startswith('{'):
            continue
        missing.remove(line)
        surplus.remove(twin)
        other = json.loads(twin.partition(' ')[2])
        findings += [f'{kind}: {each}' for each in _fields('', json.loads(text), other, but)]
    findings += [f'missing: {each}' for each in missing] + [f'left or made twice: {each}' for each in surplus]
    return _few(findings)


def _fields(path: str, wanted: object, found: object, but: frozenset[str]) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted({*wanted, *found} - but):
            if wanted.get(key) != found.get(key):
                yield from _fields(f'{path}.{key}' if path else key, wanted.get(key), found.get(key), but)
    else:
        yield f'{path} is {json.dumps(found)}, made anew it is {json.dumps(wanted)}'


def _beside(neighbour: str | None) -> str:
    return f'beside a replacement of {neighbour}: ' if neighbour else ''


def _few(findings: list[str]) -> str:
    return first_few([each[:600] for each in findings], MOST_SHOWN, '; ')


def run(type_name: str, kind: type[Resource], example: Example | None, cloud: Cloud | None,
        register: Callable[[TypeRegistry], None], crash_every: int, named: Named = NONE_NAMED) -> Iterator[CheckResult]:
    """One result for each of CHECKS; of several properties that fail all, the first place."""
    if example is None or cloud is None:
        yield from (CheckResult(type_name, check, NOT_TRIED, 'no example') for check in CHECKS)
        return
    trial = Trial(type_name, kind, example, cloud, register, crash_every, named)
    found = list(trial.run())
    trial.finish()
    for check in CHECKS:
        yield _summed(type_name, check, [each for each in found if each.check == check])


def _summed(type_name: str, check: str, found: list[CheckResult]) -> CheckResult:
    for outcome in (FAILED, WARNED):
        bad = [each for each in found if each.outcome == outcome]
        if bad:
            return CheckResult(type_name, check, outcome, _few([each.reason for each in bad]), bad[0].where)
    untried = [each.reason for each in found if each.outcome == NOT_TRIED]
    if len(untried) == len(found):
        return CheckResult(type_name, check, NOT_TRIED, 'no property is update_allowed' if not found else
                           untried[0].partition(': ')[2] if check == CRASH else '; '.join(untried))
    return CheckResult(type_name, check, PASSED, f'not tried: {"; ".join(untried)}' if untried else '')
