"""Every type that lives in a service, under every fault, in virtual time: it may fail, but says why; its deletion
always ends, and once the fault is over nothing is left.

Each type meets one of the faults here. `HEATLITE_TEST_ALL_FAULTS=1` lets each meet all of them: some minutes.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_config import cfg

from heatlite.engine.resources import packed
from heatlite.engine.types import registry
from tests.cloud.clouds import PUBLIC_KEY, own_names
from tests.cloud.table import IT, filled, lives
from tests.cloud.table import Life as Row
from tests.plugins.bench import NeverEnds
from tests.plugins.openstack.cloud import MADE_BY_SERVICES, Cloud, Life

WRITES = {'path': 're:^(?!.*/auth/tokens)'}
FOREVER = 0
FAULTS: dict[str, dict[str, Any]] = {       # name -> rule for each writing request, unless it says more
    'conflict': {'kind': 'error', 'status': 409, 'count': FOREVER},
    'broken': {'kind': 'error', 'status': 500, 'count': FOREVER},
    'broken half way': {'kind': 'error', 'status': 500, 'count': FOREVER, 'nth': 2},
    'throttled': {'kind': 'throttle', 'seconds': 3, 'count': 2},
    'quota': {'kind': 'quota', 'count': FOREVER, 'method': 'POST'},
    'hang': {'kind': 'hang', 'seconds': 30, 'count': 1},
    'lost': {'kind': 'lost', 'count': 1},
    'lost half way': {'kind': 'lost', 'count': 1, 'nth': 2},
    'lost delete': {'kind': 'lost', 'count': 1, 'method': 'DELETE'},
    'gone': {'kind': 'gone', 'count': FOREVER, 'method': 'DELETE'},
}
ANSWERED = ('conflict', 'broken', 'quota')  # the service said no, and under which request
HARMLESS = ('throttled', 'lost delete', 'gone')     # a creation must come through
# Changes that another one forbids are asked for again as long as the stack may take: nobody knows how long that is.
UNTIL_TIMEOUT = ('OS::Octavia::', 'OS::Cinder::VolumeAttachment')
# A thing of a name that the template gives, in a service that does not say when it was made: nobody can tell whose.
NOBODY_KNOWS = 'Engine went down during resource CREATE'
PATIENCE = 1.0                              # seconds until a request that hangs is given up
NAMES = {'image': 'cirros', 'other_image': 'cirros', 'flavor': 'm1.nano', 'larger': 'm1.tiny', 'external': 'public',
         'physical_network': 'physnet1', 'project': 'admin', 'other_project': 'demo', 'public_key': PUBLIC_KEY,
         'web_image': 'http://127.0.0.1/disk', 'balancer_provider': 'octavia'}


def in_services() -> dict[str, Row]:
    """Entries of types that talk to a service; what lives in the engine needs one to be tested with."""
    return {name: row for name, row in lives().items()
            if packed.facts(row.type).get('default_client_name') not in (None, 'heat')
            and not {'stack_users', 'workflow'} & set(row.needs)}


def cells() -> list[tuple[str, str]]:
    names = list(in_services())
    if os.environ.get('HEATLITE_TEST_ALL_FAULTS'):
        return [(name, fault) for name in names for fault in FAULTS]
    faults = list(FAULTS)
    return [(name, faults[number % len(faults)]) for number, name in enumerate(names)]


@functools.cache
def machine(cloud: Cloud) -> str:
    """The id of one of bare metal, which stays until the module ends."""
    return str(cloud.client('ironic').http.post('/nodes', json={'driver': 'fake-hardware'}).json()['uuid'])


class Scene:
    """A resource with what stands around it; all of it is made when it is asked for."""

    def __init__(self, cloud: Cloud, row: Row) -> None:
        self._cloud = cloud
        self._template = filled(row.template(), own_names({**NAMES, 'machine': machine(cloud)}))['resources']
        self._made: dict[str, Life] = {}

    def surround(self) -> None:
        for name in self._template:
            if name != IT:
                self._life(name)

    def it(self) -> Life:
        entry = self._template[IT]
        return Life(self._cloud, entry['type'], self._resolved(entry['properties']), name=IT)

    def clear(self) -> None:
        for life in reversed(self._made.values()):
            life.delete()

    def _life(self, name: str) -> Life:
        if name not in self._made:
            entry = self._template[name]
            for other in [entry['depends_on']] if 'depends_on' in entry else []:
                self._life(other)
            life = Life(self._cloud, entry['type'], self._resolved(entry.get('properties', {})), name=name)
            life.create()
            self._made[name] = life
        return self._made[name]

    def _resolved(self, value: Any) -> Any:
        match value:
            case {'get_resource': name}:
                return self._life(name).fresh('CREATE', 'COMPLETE').FnGetRefId()
            case {'get_attr': [name, *path]}:
                return self._life(name).attribute(*path)
            case dict():
                return {key: self._resolved(inner) for key, inner in value.items()}
            case list():
                return [self._resolved(inner) for inner in value]
        return value


@pytest.fixture(scope='module')
def acme(simulator: str) -> Iterator[Cloud]:
    registry.create()
    cloud = Cloud(simulator, 'admin')
    yield cloud
    cloud.client('ironic').http.delete(f'/nodes/{machine(cloud)}')
    registry.use(None)


@pytest.fixture
def impatient(acme: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever sleeps in a library, between two tries say, lets the cloud's clock run instead."""
    monkeypatch.setattr(time, 'sleep', acme.advance)
    cfg.CONF.set_override('timeout', PATIENCE, group='clients')
    acme.context.__dict__.pop('_session', None)
    yield
    cfg.CONF.clear_override('timeout', group='clients')
    acme.clear_faults()


@pytest.mark.parametrize('name, fault', cells())
def test_a_fault_leaves_nothing_behind(acme: Cloud, impatient: None, name: str, fault: str):
    scene = Scene(acme, in_services()[name])
    scene.surround()
    before = acme.ids()
    life = scene.it()
    life.record.state = life.record.state._replace(created_at=life.runtime.now())
    endless = fault == 'conflict' and life.type_name.startswith(UNTIL_TIMEOUT)
    rule = FAULTS[fault]
    for method in [rule['method']] if 'method' in rule else ['P*', 'DELETE']:
        acme.fault(**{**WRITES, **rule, 'method': method})
    failure = outcome(life.create, endless)
    if fault in HARMLESS:
        assert failure is None
    if failure is not None and fault in ANSWERED and not endless:
        assert 'req-' in str(failure), f'nothing says which request it was: {failure}'
    outcome(life.delete, endless)           # ends at all: the bench counts the questions
    acme.clear_faults()
    assert outcome(life.delete) is None
    acme.advance(60)
    left = {kind: ids - before[kind] for kind, ids in acme.ids().items()
            if not kind.startswith(MADE_BY_SERVICES) and ids - before[kind]}
    if NOBODY_KNOWS not in str(failure):
        assert left == {}, f'after {failure}'
    scene.clear()


def outcome(act: Any, endless: bool = False) -> Exception | None:
    """What it failed with. NeverEnds is raised, unless `endless`: the stack's time limit would end it then."""
    try:
        act()
    except NeverEnds as error:
        if not endless:
            raise
        return error
    except Exception as error:
        return error
    return None
