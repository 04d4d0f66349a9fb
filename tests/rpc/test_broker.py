"""Both ends over a real RabbitMQ (HEATLITE_TEST_RABBIT_URL, see tools/services)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import oslo_messaging
import pytest
from oslo_config import cfg

from heatlite.common import config, exception, messaging
from heatlite.common.context import RequestContext
from heatlite.rpc import client, messages
from tests.rpc import burst as program_module
from tests.system.processes import free_port

URL = os.environ.get('HEATLITE_TEST_RABBIT_URL')
ROOT = Path(__file__).resolve().parents[2]


def found_by(program, seconds):
    """The JSON of the last line that a program of this folder prints, which uses the broker."""
    if not URL:
        pytest.skip('no RabbitMQ: HEATLITE_TEST_RABBIT_URL is unset (tools/services up)')
    done = subprocess.run([sys.executable, '-W', 'ignore', '-m', f'tests.rpc.{program}', URL], cwd=ROOT,
                          capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope='module')
def burst():
    return found_by('burst', 120)


@pytest.mark.service
def test_a_call_brings_the_answer_of_an_engine(burst):
    assert burst['answer'] == {'project': 'p', 'method': 'export_stack'}


@pytest.mark.service
def test_without_an_engine_callers_hear_so(burst):
    assert burst['nobody'] == [
        'NoEngine', 'No engine is running: the message broker has no receiver for this request.']


@pytest.mark.service
def test_who_asks_before_the_first_engine_listens_is_answered_when_it_does(burst):
    assert burst['early'] == [{'project': 'p', 'method': 'export_stack'}] * 3


@pytest.mark.service
def test_errors_keep_their_names(burst):
    assert burst['missing'] == ['StackNotFound', 'The Stack (missing) could not be found.']
    assert burst['odd'][0] == 'ZeroDivisionError'


@pytest.mark.service
def test_a_burst_is_consumed_at_once(burst):
    assert burst['any'] == program_module.BURST


@pytest.mark.service
def test_a_bell_for_one_engine_rings_there_and_nowhere_else(burst):
    assert (burst['one'], burst['astray']) == (program_module.BURST, 0)


@pytest.mark.service
def test_a_cheap_read_is_sent_again_when_its_engine_has_ended(burst):
    assert burst['again'] == 2


@pytest.mark.service
def test_an_engine_that_cannot_reach_the_database_lets_others_answer(burst):
    assert burst['elsewhere'] == [{'project': 'p', 'method': 'export_stack'}] * 6
    assert burst['nowhere'], 'without another engine callers hear why'


@pytest.mark.service
def test_what_may_have_been_stored_is_not_asked_again(burst):
    assert burst['doubtful'] == 1


@pytest.mark.service
def test_an_engine_of_an_older_release_lets_a_newer_one_answer(burst):
    assert burst['newer'] == [{'project': 'p', 'method': 'paint_stack'}] * 6
    assert burst['too_old'] == ['EngineTooOld', 'No engine of a release that knows "paint_stack" is running.']


@pytest.mark.service
def test_each_request_is_answered_while_engines_leave():
    """The library acknowledges what comes while a connection is being closed, and forgets it."""
    found = found_by('leaving_servers', 120)
    assert found.pop('answered') and found == {}


@pytest.mark.service
def test_an_answer_that_finds_no_broker_is_not_waited_for():
    """The caller learns that its request may have been accepted; a later one was not, and says so."""
    assert found_by('lost_answer', 200) == {
        'first': 'AnswerLost', 'second': 'BrokerUnavailable', 'received': 1, 'silent': 'MessagingTimeout'}


@pytest.mark.service
def test_an_engine_leaves_a_host_that_has_gone_silent():
    assert found_by('silent_host', 200) == {'before': 'answer', 'meanwhile': 'answer'}


@pytest.mark.service
def test_an_engine_that_stops_removes_its_queue_and_logs_nothing_else():
    assert found_by('stopped_server', 60) == {'left': [], 'lines': []}


@pytest.mark.service
def test_a_process_that_the_broker_does_not_let_in_is_not_ready():
    """Before any message was sent; once it is let in, the outage is over."""
    assert found_by('checked_logins', 60) == {
        'vhost': ['vhost', 'vhost', 'outage'], 'password': ['password', 'password', 'outage'],
        'right': ['ok', 'ok', 'no outage'], 'hosts': ['ok', 'ok', 'no outage']}


def test_without_a_broker_callers_hear_so_at_once():
    port = free_port()
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[])
    ends = client.BrokerClient(conf, oslo_messaging.get_rpc_transport(
        conf, f'rabbit://guest:guest@127.0.0.1:{port}/'))
    conf.set_override('transport_url', f'rabbit://guest:guest@127.0.0.1:{port}/')
    with pytest.raises(exception.BrokerUnavailable, match=str(port)):
        ends.call(RequestContext(overwrite=False), messages.DeleteStack('s'))
    ends.wake('s')


@pytest.mark.parametrize('url, is_named', [
    (None, True), ('rabbit://', True), ('rabbit://u:p@127.0.0.1:{port}/', False)])
def test_an_unset_url_of_the_broker_is_named(url, is_named, monkeypatch):
    port = free_port()
    monkeypatch.setattr(messaging, 'PORT', port)
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[])
    oslo_messaging.TransportURL.parse(conf)             # declares the option
    if url is not None:
        conf.set_override('transport_url', url.format(port=port))
    with pytest.raises(exception.BrokerUnavailable, match=str(port)) as found:
        messaging.probe(conf)
    assert ('[DEFAULT] transport_url is not set' in str(found.value)) == is_named
    assert ('rabbit://USER:PASSWORD@HOST:5672/' in str(found.value)) == is_named
