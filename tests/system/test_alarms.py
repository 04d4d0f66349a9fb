"""Alarms evaluated by real engines over real databases, which are killed and stand still meanwhile."""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections import Counter
from functools import partial

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.common import config, crypt
from heatlite.db import alarms, metrics
from heatlite.db.alarms import Alarm
from heatlite.db.connection import Database
from heatlite.db.metrics import moment
from heatlite.monitoring.alarms import AlarmRule, Datapoint, Metric
from tests.system import clocks, databases
from tests.system.cluster import Cluster
from tests.system.processes import ask, eventually, finished

RABBIT = os.environ.get('HEATLITE_TEST_RABBIT_URL')
KEY = 'k' * 32
PERIOD = 10
PROJECTS = 20
COUNT = 1000                            # alarms
PERIODS = 6                             # that all of them live through
LISTENER = {'heat_template_version': '2018-08-31', 'resources': {'listener': {'type': 'Test::Ledger::Listener'}}}
CPU = Metric('n', 'CPU')


@pytest.fixture(params=databases.SERVERS)
def cluster(request, tmp_path):
    if not (RABBIT and databases.SERVERS[request.param]):
        pytest.skip(f'needs RabbitMQ and {request.param}: tools/services up')
    made = Cluster(tmp_path, databases.SERVERS[request.param], RABBIT, engines=3, alarms__delay=1.0,
                   alarms__max_alarms_per_project=-1, auth_encryption_key=KEY)
    yield made
    made.stop()


@pytest.fixture
def database(cluster):
    config.register(cfg.CONF)
    cfg.CONF.set_override('auth_encryption_key', KEY)
    found = Database(cluster.database_url, seal=partial(crypt.seal, encryption_key=KEY))
    yield found
    found.close()
    cfg.CONF.clear_override('auth_encryption_key')


def make(database, project, name, **changed):
    """An alarm whose actions follow each evaluation, so that the history has an entry for each period."""
    rule = AlarmRule(**{'metric': CPU, 'statistic': 'Average', 'period': PERIOD, 'evaluation_periods': 1,
                        'comparison': 'GreaterThanThreshold', 'threshold': 50.0, 'missing': 'breaching',
                        'every_time': True, **changed})

    def put(tx):
        alarms.lock(tx, project)
        now = tx.execute(sa.select(database.clock())).scalar_one()
        end = int(now) // PERIOD * PERIOD
        alarms.put(tx, Alarm(str(uuid.uuid4()), project, name, None, None, rule, True, 'NODATA', '', None,
                             moment(now), moment(now), 1, end, end + PERIOD + 1.0))

    database.retry(put)


def entries(database):
    """{(project, alarm): [the end of each period in its history]}"""
    found = {}
    for number in range(PROJECTS + 1):
        project = 'admin' if number == PROJECTS else f'p{number}'
        marker = None
        while True:
            with database.reader() as tx:
                some = alarms.history(tx, project, kind='Action', ascending=True, marker=marker, limit=1000)
            for each in some:
                found.setdefault((project, each.name), []).append(each.data['evaluated'])
            if len(some) < 1000:
                break
            marker = some[-1].id
    return found


def counted(database):
    """How many entries of actions each alarm has in the history."""
    with database.reader() as tx:
        return dict(tx.exec_driver_sql(
            "SELECT alarm_id, count(*) FROM alarm_history WHERE kind = 'Action' GROUP BY alarm_id").tuples().all())


def owners(database):
    with database.reader() as tx:
        return Counter(row[0] for row in tx.exec_driver_sql(
            "SELECT engine_id FROM lease WHERE stack_id LIKE 'alarms-%%' AND engine_id IS NOT NULL"))


def busiest(cluster, database):
    """The engine that drives most shards."""
    def found():
        return next((each for engine_id, _count in owners(database).most_common() for each in cluster.engines
                     if engine_id in each.log.read_text()), None)

    return eventually('an owner of shards', found)


def test_each_period_is_evaluated_once(cluster, database):
    """While engines are killed and stand still, in the middle of an evaluation of all alarms."""
    stack_url = cluster.create('s', LISTENER)
    stack_id = stack_url.rsplit('/', 1)[1]
    assert finished(stack_url) == 'CREATE_COMPLETE'
    for number in range(COUNT):
        make(database, f'p{number % PROJECTS}', f'a{number}',
             alarm_actions=('arn:openstack:heat::no-such-project:stacks/s/x/resources/y',))
    make(database, 'admin', 'told', alarm_actions=(
        f'arn:openstack:heat::admin:stacks/s/{stack_id}/resources/listener',))

    def in_the_middle():
        """Waits for the beginning of the next round of evaluations; the engine that does most of them."""
        engine = busiest(cluster, database)
        before = sum(counted(database).values())
        eventually('a round', lambda: before < sum(counted(database).values()))
        return engine

    killed = in_the_middle()
    killed.kill()
    cluster.engines.remove(killed)
    frozen = in_the_middle()
    frozen.signal(signal.SIGSTOP)
    time.sleep(PERIOD + 3)
    frozen.signal(signal.SIGCONT)
    eventually('enough periods', lambda: min(counted(database).values()) >= PERIODS)
    found = entries(database)
    assert len(found) == COUNT + 1
    twice = {name: ends for name, ends in found.items() if len(set(ends)) != len(ends)}
    assert not twice
    skipped = sum((ends[-1] - ends[0]) // PERIOD + 1 - len(ends) for ends in found.values())
    print(f'{sum(map(len, found.values()))} evaluations of {len(found)} alarms, none twice, {skipped} left out')
    assert not skipped

    def told():
        return len(ask('GET', f'{stack_url}/resources/listener/metadata')[1]['metadata'])

    with database.writer() as tx:                   # no more of them
        alarms.lock(tx, 'admin')
        alarms.remove(tx, alarms.page(tx, 'admin'))
    wanted = len(entries(database)['admin', 'told'])
    eventually('the signals', lambda: told() >= wanted)
    assert told() == wanted


@pytest.mark.skipif(clocks.LIBRARY is None, reason='needs libfaketime')
def test_each_period_is_evaluated_once_while_clocks_are_set(cluster, database, tmp_path):
    """The wall clock of the busiest of three engines jumps an hour ahead, then an hour back, while it evaluates."""
    for engine in cluster.engines:
        engine.kill()
    cluster.engines.clear()
    times = []
    for number in range(3):
        times.append(clocks.Clock(tmp_path / f'clock{number}'))
        cluster.start_engine(**times[-1].environment).said('takes requests')
    for number in range(100):
        make(database, f'p{number % PROJECTS}', f'a{number}',
             alarm_actions=('arn:openstack:heat::no-such-project:stacks/s/x/resources/y',))
    eventually('a period of each', lambda: len(counted(database)) == 100)
    jumps = []
    for seconds in (3600, -3600, 0):
        engine = busiest(cluster, database)
        clock = times[cluster.engines.index(engine)]
        for each in (times if not seconds else [clock]):
            each.set(seconds)
        before = min(counted(database).values())
        eventually('two more periods', lambda least=before + 2: min(counted(database).values()) >= least)
        jumps.append((seconds, engine.log.name, engine.process.poll()))
    found = entries(database)
    assert len(found) == 100
    assert not {name: ends for name, ends in found.items() if len(set(ends)) != len(ends)}, jumps
    skipped = sum((ends[-1] - ends[0]) // PERIOD + 1 - len(ends) for ends in found.values())
    print(f'{sum(map(len, found.values()))} evaluations of {len(found)} alarms, none twice, {skipped} left out')
    assert not skipped
    assert all(code is None for _seconds, _engine, code in jumps), jumps


def test_data_make_an_alarm_and_a_signal(cluster, database):
    """From a datapoint to the metadata of a resource; the engine that had the shard was killed before."""
    stack_url = cluster.create('s', LISTENER)
    stack_id = stack_url.rsplit('/', 1)[1]
    assert finished(stack_url) == 'CREATE_COMPLETE'
    make(database, 'admin', 'hot', every_time=False, missing='ignore', alarm_actions=(
        f'http://any/v1/signal/arn%3Aopenstack%3Aheat%3A%3Aadmin%3Astacks/s/{stack_id}/resources/listener?x=y',))
    owner = busiest(cluster, database)
    owner.kill()
    cluster.engines.remove(owner)
    with database.writer() as tx:
        now = tx.execute(sa.select(database.clock())).scalar_one()
        metrics.store(tx, 'admin', [Datapoint(CPU, None, 'Percent', 1.0, 90.0, 90.0, 90.0, True)], now)
    eventually('the signal', lambda: ask('GET', f'{stack_url}/resources/listener/metadata')[1]['metadata'])
    with database.reader() as tx:
        assert alarms.get(tx, 'admin', 'hot').state == 'ALARM'
        assert [each.kind for each in alarms.history(tx, 'admin', 'hot', ascending=True)] == ['StateUpdate', 'Action']


