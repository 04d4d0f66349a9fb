"""Which messages are sent to another engine when the first one does not answer in time."""

from datetime import datetime, timedelta

import oslo_messaging
import pytest
from oslo_config import cfg

from heatlite.common import config, exception, runtime
from heatlite.common.context import RequestContext
from heatlite.db import engines, tables
from heatlite.db.connection import Database
from heatlite.rpc import client, engine_life, messages, server

RESENT = {'export_stack', 'list_projects', 'list_regions', 'list_resource_types', 'resource_schema'}


class Silent:
    """A client of the messaging library whose engines never answer. `sent`: the methods of the messages."""

    def __init__(self):
        self.sent, self.contexts = [], []

    def prepare(self, **_options):
        return self

    def call(self, context, method, **_arguments):
        self.sent.append(method)
        self.contexts.append(context)
        raise oslo_messaging.MessagingTimeout()


@pytest.fixture
def ends():
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[])
    found = client.BrokerClient(conf, oslo_messaging.get_rpc_transport(conf, 'fake:/'), url='fake:/')
    found._client = Silent()
    return found


class Engines:
    """What is known of them."""

    def __init__(self, any_lives):
        self.any_lives = lambda: any_lives


def made(kind):
    """A message with all required fields."""
    return kind(**{name: '' for name, each in kind.__dataclass_fields__.items()
                   if messages.default(each) is messages.MISSING})


@pytest.mark.parametrize('method', sorted(server.MESSAGES.keys() - {'wake'}))
def test_what_an_engine_computes_for_a_caller_is_sent_once(ends, method):
    """A request that stops its engine would stop the next one, too."""
    with pytest.raises(exception.MessagingTimeout):
        ends.call(RequestContext(overwrite=False), made(server.MESSAGES[method]))
    assert ends._client.sent == [method] * (2 if method in RESENT else 1)


@pytest.mark.parametrize('lives, seconds', [(True, 60), (False, engine_life.OFFERED_SECONDS)])
def test_a_message_is_over_soon_where_no_engine_lives(lives, seconds):
    """With its deadline: an engine that starts later must not execute what its caller has given up."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[])
    found = client.BrokerClient(conf, oslo_messaging.get_rpc_transport(conf, 'fake:/'), url='fake:/',
                                engines=Engines(lives))
    found._client = Silent()
    before = runtime.current().now()
    with pytest.raises(exception.MessagingTimeout, match=f'within {seconds}'):
        found.call(RequestContext(overwrite=False), messages.DeleteStack('s'))
    deadline = datetime.fromisoformat(found._client.contexts[0][messages.DEADLINE])
    after = runtime.current().now()
    assert before + timedelta(seconds=seconds - 1) <= deadline <= after + timedelta(seconds=seconds)


def test_engines_live_as_the_database_says(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_life, 'POLL_SECONDS', 0.0)
    database = Database(f'sqlite:///{tmp_path}/db.sqlite')
    lives = engine_life.EngineLife(database).any_lives
    assert lives()                              # as nothing is known: there are no tables
    tables.metadata.create_all(database.engine)
    found = []
    for ttl in (-1.0, 60.0):
        with database.writer() as tx:
            engines.register(tx, engine_id='e', host='h', hostname='h', binary='b', topic='t', report_interval=60,
                             ttl=ttl, now=runtime.current().now())
        found.append(lives())
    assert found == [False, True]
    with database.writer() as tx:
        engines.remove(tx, 'e', runtime.current().now())
    assert lives()                              # it may be about to start again
    with database.writer() as tx:
        tx.execute(tables.engine.update().values(
            deleted_at=runtime.current().now() - timedelta(seconds=engine_life.OFFERED_SECONDS)))
    assert not lives()
    database.close()


def test_a_message_may_be_with_an_engine_that_has_ended(tmp_path, monkeypatch):
    """Whether it fell silent or was removed, but not for ever."""
    monkeypatch.setattr(engine_life, 'POLL_SECONDS', 0.0)
    database = Database(f'sqlite:///{tmp_path}/db.sqlite')
    substitutes = engine_life.EngineLife(database).substitutes
    assert substitutes() == ()                  # as nothing is known: there are no tables
    tables.metadata.create_all(database.engine)
    now = runtime.current().now()
    found = []
    for name, ttl in (('old', -engine_life.ENDED_SECONDS - 1.0), ('alive', 60.0), ('silent', -1.0)):
        with database.writer() as tx:
            engines.register(tx, engine_id=name, host=name, hostname='h', binary='b', topic='t', report_interval=60,
                             ttl=ttl, now=now)
        found.append(list(substitutes()))
    assert found == [[], [], ['alive']]
    for minutes in (0, 1):
        with database.writer() as tx:
            engines.remove(tx, 'silent', now - timedelta(minutes=minutes))
            tx.execute(tables.engine.update().where(tables.engine.c.id == 'silent').values(
                deleted_at=now - timedelta(minutes=minutes)))
        found.append(list(substitutes()))
    assert found[3:] == [['alive'], []]
    database.close()


class Upgrading:
    """A client of the messaging library. The first engine that it reaches is of an older release than the sender."""

    def __init__(self):
        self.sent = []

    def prepare(self, **_options):
        return self

    def call(self, context, method, **arguments):
        self.sent.append(method)
        if len(self.sent) == 1:
            arguments['added_later'] = 1
        return server.answer(self, context, method, arguments)

    def handle(self, _context, _message):
        return 'done'


@pytest.mark.parametrize('message', [messages.ResourceAttributes('s', 'r', without_access=True),
                                     messages.ResolveOutputs('s')])
def test_what_is_stored_is_shown_when_an_engine_is_too_old(ends, message):
    """While APIs are upgraded first, no engine would answer: the caller would wait for nothing."""
    ends._client = Upgrading()
    with pytest.raises(exception.EngineTooOld):
        ends.call(RequestContext(overwrite=False), message)
    assert ends._client.sent == [message.method()]


def test_other_requests_go_to_an_engine_that_knows_them(ends):
    ends._client = Upgrading()
    assert ends.call(RequestContext(overwrite=False), messages.DeleteStack('s')) == 'done'
    assert ends._client.sent == ['delete_stack'] * 2


def test_only_reads_are_sent_again():
    assert all(found.reads for found in server.MESSAGES.values() if found.resent)
