"""The small parts, without HTTP: clock, tables, routes, JSON patches, descriptions."""

import random
import uuid
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudsim import cloud, service
from cloudsim.clock import Clock
from cloudsim.collection import patched
from cloudsim.messages import Problem
from cloudsim.routing import Routes
from cloudsim.store import Table, Thing


class SteppedRuntime:
    """Time that moves when it is told to."""

    def __init__(self):
        self.passed = 0.0
        self._random = random.Random(1)

    def now(self):
        return datetime(2026, 1, 1) + timedelta(seconds=self.passed)

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds

    def uuid(self):
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


@given(st.lists(st.integers(0, 100), max_size=20))
def test_what_is_due_happens_in_order_and_sees_its_own_time(delays):
    clock, seen = Clock(SteppedRuntime()), []
    start = clock.now()
    for delay in delays:
        clock.after(delay, lambda delay=delay: seen.append((delay, clock.now() - start)))
    clock.advance(100)
    assert [delay for delay, _ in seen] == sorted(delays)
    assert all(abs(delay - at) < 1e-3 for delay, at in seen)


def test_what_is_due_may_make_more_due():
    clock, seen = Clock(SteppedRuntime()), []
    clock.after(1, lambda: clock.after(1, lambda: seen.append('second')))
    clock.advance(1.5)
    assert seen == []
    clock.advance(1)
    assert seen == ['second']
    assert clock.waiting == 0


def test_a_stopped_clock_stands_and_goes_on_from_there():
    runtime = SteppedRuntime()
    clock = Clock(runtime)
    clock.stop()
    before = clock.now()
    runtime.passed += 50
    assert clock.now() == before
    clock.go()
    runtime.passed += 5
    assert clock.now() == pytest.approx(before + 5)


@given(st.lists(st.tuples(st.sampled_from('abc'), st.sampled_from(['x', 'y', None, ['x', 'z']]))))
def test_indexes_find_what_a_scan_finds(steps):
    table = Table('t', ('field',))
    for at, (action, value) in enumerate(steps):
        if action == 'a' or not table.things:
            table.add(Thing(str(at), 'p', {'field': value}, {}))
        elif action == 'b':
            table.change(next(iter(table.things.values())), field=value)
        else:
            table.remove(next(iter(table.things.values())))
    for wanted in 'xyz':
        scanned = {each.id for each in table if each['field'] == wanted
                   or (isinstance(each['field'], list) and wanted in each['field'])}
        assert {each.id for each in table.find('field', wanted)} == scanned


@pytest.mark.parametrize('method, path, found', [
    ('GET', '/a', ('list', [])), ('GET', '/a/', ('list', [])), ('GET', '/a/1', ('show', ['1'])),
    ('HEAD', '/a/1', ('show', ['1'])), ('GET', '/a/detail', ('detail', [])), ('GET', '/a/1/b', ('below', ['1'])),
    ('GET', '/a/detail/b', ('below', ['detail'])), ('GET', '/o/1/x/y/z', ('rest', ['1', 'x/y/z'])),
    ('PUT', '/a', (None, [])), ('GET', '/nothing', (None, []))])
def test_routes(method, path, found):
    routes = Routes()
    for known, name in (('/a', 'list'), ('/a/{id}', 'show'), ('/a/detail', 'detail'), ('/a/{id}/b', 'below'),
                        ('/o/{id}/{rest*}', 'rest')):
        routes.add('GET', known, name)
    assert routes.find(method, path)[:2] == found


@pytest.mark.parametrize('operations, changes', [
    ([{'op': 'replace', 'path': '/a', 'value': 2}], {'a': 2}),
    ([{'op': 'add', 'path': '/m/k', 'value': 2}], {'m': {'j': 1, 'k': 2}}),
    ([{'op': 'remove', 'path': '/m/j'}], {'m': {}}),
    ([{'op': 'add', 'path': '/l/-', 'value': 'z'}, {'op': 'remove', 'path': '/l/0'}], {'l': ['y', 'z']}),
    ([{'op': 'remove', 'path': '/a'}], {'a': None})])
def test_patches(operations, changes):
    assert patched({'a': 1, 'm': {'j': 1}, 'l': ['x', 'y']}, operations) == changes


@pytest.mark.parametrize('operations', [{}, [{}], [{'op': 'move', 'path': '/a'}], [{'op': 'add', 'path': '/a'}],
                                        [{'op': 'replace', 'path': '/nothing', 'value': 1}]])
def test_patches_that_are_wrong(operations):
    with pytest.raises(Problem):
        patched({'a': 1}, operations)


def test_every_description_names_what_there_is():
    """References, holders and parents point at kinds and fields that exist; every service is of one piece."""
    made = cloud.Cloud(SteppedRuntime(), 'http://x')
    assert set(made.services) == set(cloud.SERVICES)
    for each in made.services.values():
        for collection in each.collections():
            for kind in (*collection.kind.refs.values(), *collection.kind.parents.values()):
                assert each.collection(kind)
            for held in collection.kind.held_by:
                kind, field = held.rsplit('.', 1)
                other = each.collection(kind).kind
                assert field in other.fields, held


def test_the_same_seed_gives_the_same_cloud():
    first, second = (cloud.Cloud(SteppedRuntime(), 'http://x') for _ in range(2))
    for name, each in first.services.items():
        for one, other in zip(each.tables(), second.services[name].tables(), strict=True):
            assert list(one.things) == list(other.things)


def test_quotas_are_charged_by_resource():
    made = cloud.Cloud(SteppedRuntime(), 'http://x').service('network')
    made.limits['p'] = {'port': 2}
    made.charge('p', 'port', 1, 1)
    made.charge('q', 'port', 100, 1)
    with pytest.raises(Problem) as refused:
        made.charge('p', 'port', 2, 1)
    assert refused.value.status == service.describe('network').over_quota == 409


@pytest.mark.parametrize('name', sorted(cloud.Cloud(SteppedRuntime(), 'http://c').services))
def test_paths_without_the_version_of_the_api_lead_nowhere(name):
    """As in the real services: clients that rely on it fail there only."""
    found = cloud.Cloud(SteppedRuntime(), 'http://c').services[name]
    versions = [each['path'].rstrip('/') for each in found.description.versions if each['path'].strip('/')]
    if not versions:
        pytest.skip('its paths have no version')
    for kind in found.description.kinds.values():
        short = kind.path.removeprefix(next((each for each in versions if kind.path.startswith(f'{each}/')), '?'))
        assert short != kind.path, 'the description has the version'
        assert found.routes.find('GET', '/' + found.shorten(short.lstrip('/')))[0] is None
