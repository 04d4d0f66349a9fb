"""What the log says while something is away - the database, the broker, Keystone, all services of the cloud: a line or
two for each process and cause, however many requests fail and however much work waits. What becomes of a request, a
resource or a stack has its own line."""

import collections
import contextlib
import re
import threading

import pytest
import sqlalchemy as sa

from tests.system import databases, identities, production
from tests.system.processes import eventually
from tests.system.relay import Relay

pytestmark = [pytest.mark.service, pytest.mark.skipif(
    not (databases.FIRST and production.RABBIT), reason='needs a database server and RabbitMQ: tools/services up')]

REQUESTS = 40                   # of each kind, during an outage
MOST = 3                        # lines of one kind in one process, in the minute that an outage may last here
MOST_OF_ALL = 12                # lines of one process beside RESULTS
RESULTS = ('heatlite.api.middleware.access ', 'heatlite.steps ', 'heatlite.engine.reconcile.action_ends ',
           ' refused: ')
LINE = re.compile(r'\S+ \S+ \d+ (\w+) (\S+) \[[^\]]*\] (?:\[stack \S+\] )?(.*)')
NUMBER = re.compile(r'[0-9a-f]{8}-[0-9a-f-]+|\d+')
NETS = {f'n{number}': {'type': 'OS::Neutron::Net'} for number in range(30)}


def template(resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


class Place:
    def __init__(self, cloud, relays):
        self.cloud, self.relays = cloud, relays
        self.demo = cloud.people['demo']
        assert self.demo.ec2                    # signs requests also when Keystone is away
        self.old = cloud.create(self.demo, 'old', template(NETS))
        cloud.finished(self.demo, self.old)
        self.slow = cloud.create(self.demo, 'slow', template({f't{number}': {
            'type': 'OS::Heat::TestResource', 'properties': {'action_wait_secs': {'create': 3600}}}
            for number in range(10)}))
        self.logs = [log for log in sorted(cloud.folder.glob('*.log')) if log.name != 'cloud.log']

    def load(self, count):
        """Requests of each kind, whatever becomes of them."""
        cloud, demo = self.cloud, self.demo
        kinds = [
            lambda n: cloud.ask(demo, 'GET', '/stacks'),
            lambda n: cloud.ask(demo, 'GET', f'{self.old}/resources'),
            lambda n: cloud.send(cloud.port, 'GET', f'/v1/{demo.project_id}/stacks', None, {'X-Auth-Token': f'x{n}'}),
            lambda n: cloud.send(cloud.port, 'GET', '/readiness', None, {}),
            lambda n: cloud.ask_cfn(demo, 'ListStacks'), lambda n: cloud.ask_cloudwatch(demo, 'ListMetrics'),
            lambda n: cloud.ask(demo, 'POST', '/stacks', {'stack_name': f'new{n}', 'template': template(NETS)})]

        def ask(kind):
            for number in range(count):
                with contextlib.suppress(OSError):
                    kind(number)

        threads = [threading.Thread(target=ask, args=(kind,), daemon=True) for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)                     # creates wait for their time-out while the broker is away

    def mark(self):
        return {log: log.stat().st_size for log in self.logs}

    def lines(self, since):
        """Process -> kind of line -> number of lines, without RESULTS."""
        found = {}
        for log in self.logs:
            text = log.read_bytes()[since[log]:].decode()
            found[log.stem] = collections.Counter(
                _kind(line) for line in text.splitlines() if not any(each in line for each in RESULTS))
        return found


def _kind(line):
    """Level, logger and the begin of the text, without numbers; a line of a traceback is a kind of its own."""
    found = LINE.match(line)
    text = NUMBER.sub('#', line if found is None else found[3])[:60]
    return ('', '', text) if found is None else (found[1], found[2], text)


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    database = sa.make_url(databases.SERVERS[databases.FIRST])
    broker = sa.make_url(production.RABBIT)
    relays = {'database': Relay((database.host, database.port)), 'broker': Relay((broker.host, broker.port))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(databases.SERVERS, databases.FIRST, _at(database, relays['database']))
        patch.setattr(production, 'RABBIT', _at(broker, relays['broker']))
        with production.Production(
                tmp_path_factory.mktemp('rates'), engines=1, identity=identities.Simulated, rpc_response_timeout=20,
                drift__interval=2, drift__requests_per_minute=6000) as cloud:
            yield Place(cloud, relays)


def _at(url, relay):
    return url.set(port=relay.port).render_as_string(hide_password=False)


def check(found):
    """At most a few lines of each kind, and in all."""
    often = [(process, kind, count) for process, kinds in found.items() for kind, count in kinds.items()]
    assert [each for each in often if each[2] > MOST] == []
    assert {process: kinds for process, kinds in found.items() if sum(kinds.values()) > MOST_OF_ALL} == {}


@pytest.mark.parametrize('what', ['database', 'broker'])
def test_an_outage_is_a_few_lines(place, what):
    since = place.mark()
    place.relays[what].cut()
    place.load(REQUESTS)
    found = place.lines(since)
    place.relays[what].mend()
    check(found)
    assert any(f'Work waits for the {"message broker" if what == "broker" else what}' in str(kind)
               for kind in found['api'])
    eventually('work again', lambda: place.cloud.ask(place.demo, 'GET', '/readiness').status == 404 or
               place.cloud.send(place.cloud.port, 'GET', '/readiness', None, {}).status == 200)


def test_keystone_and_all_services_away_are_a_few_lines(place):
    """The last test: the cloud is gone."""
    eventually('an engine that takes requests', lambda: place.cloud.ask(
        place.demo, 'POST', '/stacks', {'stack_name': 'again', 'template': template({})}).status in (201, 409))
    since = place.mark()
    place.cloud.identity.__exit__()
    place.load(REQUESTS)
    found = place.lines(since)
    check(found)
    for api in ('cfn', 'cloudwatch'):
        assert [kind for kind in found[api] if 'Work waits for the identity service' in str(kind)]
