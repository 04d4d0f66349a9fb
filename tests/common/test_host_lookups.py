"""Look-ups of names: shared, bounded, remembered, and in threads that nothing else waits for."""

import _socket
import socket
import subprocess
import sys
import threading
from concurrent import futures

import pytest
from oslo_config import cfg

from heatlite.common import config, host_lookups, os_threads, urlfetch
from heatlite.common.context import RequestContext
from heatlite.common.host_lookups import Lookups
from tests.silent_names import PATIENCE, Resolver
from tests.system.processes import free_port


@pytest.fixture
def resolver(monkeypatch):
    found = Resolver()
    monkeypatch.setattr(_socket, 'getaddrinfo', found)
    yield found
    found.is_answering = True
    host_lookups.of_users().forget()
    host_lookups.of_services().forget()


@pytest.fixture
def threads():
    with futures.ThreadPoolExecutor(64) as found:
        yield found


@pytest.mark.parametrize('host', ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '::1', '::ffff:1.2.3.4', None])
@pytest.mark.parametrize('port', [80, '80'])
def test_an_address_is_not_looked_up(resolver, host, port):
    assert Lookups(1, 1).addresses(host, port) == socket.getaddrinfo(host, port)
    assert not resolver.asked


@pytest.mark.parametrize('port', [0, 80, 65535, '80', 'http', None])
@pytest.mark.parametrize('family', [0, socket.AF_INET])
def test_answers_are_those_of_the_system(resolver, port, family):
    resolver.found = ['192.0.2.1', '192.0.2.2', *(['2001:db8::1'] if not family else [])]
    asked = 'a.example', port, family, socket.SOCK_STREAM, 0, 0
    assert Lookups(1, 1).addresses(*asked) == socket.getaddrinfo(*asked)


def test_one_look_up_for_all_ports_and_for_some_seconds(resolver):
    found = Lookups(1, 1)
    assert [found.addresses('a.example', port)[0][4][1] for port in (80, 443, 80)] == [80, 443, 80]
    assert resolver.asked == {'a.example': 1}
    found.forget()
    found.addresses('a.example', 80)
    assert resolver.asked == {'a.example': 2}


def test_an_error_is_remembered_as_well(resolver):
    resolver.found, found = [], Lookups(1, 1)
    for _ in range(2):
        with pytest.raises(socket.gaierror) as failed:
            found.addresses('a.example', 80)
        assert failed.value.errno == socket.EAI_NONAME
    assert resolver.asked == {'a.example': 1}


def test_callers_of_one_name_share_a_look_up(resolver, threads):
    found = Lookups(8, 8)
    callers = [threads.submit(found.addresses, 'silent.example', port, owner=str(port % 2)) for port in range(20)]
    resolver.wait(1)
    resolver.is_answering = True
    assert [each.result()[0][4][1] for each in callers] == [*range(20)]
    assert resolver.asked == {'silent.example': 1}


def test_a_look_up_is_over_in_time_for_its_caller(resolver, monkeypatch):
    monkeypatch.setattr(host_lookups, 'SECONDS', 0.01)
    with pytest.raises(socket.gaierror) as failed:
        Lookups(1, 1).addresses('silent.example', 80)
    assert failed.value.errno == socket.EAI_AGAIN
    with pytest.raises(TimeoutError):                       # its own time is over before
        Lookups(1, 1).addresses('silent.example', 80, seconds=0.001)


def test_silent_names_of_one_project_leave_threads_to_others(resolver, threads):
    found = Lookups(8, 2)
    for number in range(40):
        threads.submit(found.addresses, f'silent{number}.example', 80, owner='p')
    resolver.wait(2)
    assert found.addresses('quick.example', 80, owner='q', seconds=PATIENCE)
    assert resolver.silent == 2
    resolver.is_answering = True


def test_a_look_up_that_waits_in_the_share_of_another_project_begins_for_the_second_caller(resolver, threads):
    found = Lookups(8, 1)
    threads.submit(found.addresses, 'silent.example', 80, owner='p')
    resolver.wait(1)
    waiting = threads.submit(found.addresses, 'quick.example', 80, owner='p')
    assert found.addresses('quick.example', 80, owner='q', seconds=PATIENCE)
    assert waiting.result()
    assert resolver.asked == {'silent.example': 1, 'quick.example': 1}


def test_callers_that_have_gone_leave_no_look_up_behind(resolver, threads):
    found = Lookups(1, 1)
    begun = threads.submit(found.addresses, 'silent.example', 80)
    resolver.wait(1)
    for number in range(5):
        with pytest.raises(TimeoutError):
            found.addresses(f'late{number}.example', 80, seconds=0.001)
    resolver.is_answering = True
    assert begun.result()
    assert found.addresses('next.example', 80)
    assert resolver.asked == {'silent.example': 1, 'next.example': 1}


def test_owners_take_turns(threads):
    pool, begun, go, order = os_threads.ThreadPool(1, 1), threading.Semaphore(0), threading.Event(), []

    def wait(number):
        begun.release()
        go.wait()

    threads.submit(pool.call, PATIENCE, wait, 0, owner='p')
    assert begun.acquire(timeout=PATIENCE)
    calls = [threads.submit(pool.call, PATIENCE, order.append, f'{owner}{number}', owner=owner)
             for owner in 'pq' for number in range(3)]
    while len(pool._calls) < 7:
        threading.Event().wait(0.001)
    go.set()
    for each in calls:
        each.result()
    assert [each[0] for each in order] in (list('pqpqpq'), list('qpqpqp'))


def test_no_thread_stays():
    pool, used = os_threads.ThreadPool(4, 4), []
    for number in range(3):
        pool.call(PATIENCE, lambda number: used.append(threading.current_thread()), number)
    for each in used:
        each.join(PATIENCE)
        assert not each.is_alive()


def test_an_error_of_a_call_is_that_of_its_caller():
    with pytest.raises(ZeroDivisionError):
        os_threads.ThreadPool(1, 1).call(PATIENCE, divmod, 1, 0)


def test_a_call_fails_where_the_system_gives_no_thread(monkeypatch):
    def refuse(*_given):
        raise RuntimeError("can't start new thread")

    pool = os_threads.ThreadPool(1, 1)
    with monkeypatch.context() as changed:
        changed.setattr(threading, '_start_new_thread', refuse)
        with pytest.raises(BlockingIOError):
            pool.call(PATIENCE, int, '7')
    assert pool.call(PATIENCE, int, '7') == 7


# --- URLs of users -----------------------------------------------------------------------------------------

@pytest.fixture
def allowed():
    config.register(cfg.CONF)
    cfg.CONF.set_override('template_fetch_allow', ['192.0.2.0/24', '127.0.0.0/8'])
    yield
    cfg.CONF.clear_override('template_fetch_allow')


@pytest.mark.parametrize('ask', [
    lambda url, seconds: urlfetch.post(url, b'{}', seconds),
    lambda url, seconds: urlfetch._read_http(url, 100, seconds),
    lambda url, seconds: urlfetch.connected(url.split('/')[2], 80, seconds)])
def test_silent_names_in_urls_leave_threads_to_other_projects(resolver, threads, allowed, ask):
    """For templates, web hooks and logins at other clouds; an address needs no thread at all."""
    def of(project, url, seconds=PATIENCE):
        RequestContext(project_id=project)
        with pytest.raises(OSError) as failed:
            ask(url, seconds)
        return failed.value

    for number in range(40):
        threads.submit(of, 'p', f'http://silent{number}.example/')
    resolver.wait(4)
    resolver.found = ['127.0.0.1']
    assert 'time' not in str(of('q', f'http://127.0.0.1:{free_port()}/')).lower()
    of('q', 'http://quick.example/')
    assert resolver.asked['quick.example'] == 1
    assert resolver.silent == 4
    resolver.found = []
    resolver.is_answering = True


def test_files_of_the_operator_are_read_while_names_are_silent(resolver, threads, tmp_path):
    document = tmp_path / 'a.yaml'
    document.write_text('heat_template_version: 2018-08-31')
    for number in range(70):
        threads.submit(host_lookups.of_users().addresses, f'silent{number}.example', 80, owner=str(number % 32))
    resolver.wait(64)
    assert urlfetch.get(f'file://{document}', urlfetch.LOCAL_TOO).startswith('heat_template_version')
    assert host_lookups.of_services().addresses('quick.example', 80)
    resolver.is_answering = True


def test_a_host_whose_first_address_does_not_answer_is_reached_by_its_next(resolver, allowed, monkeypatch):
    monkeypatch.setattr(urlfetch, 'NEXT_ADDRESS', 0.05)
    with socket.create_server(('127.0.0.2', 0), backlog=0) as full, socket.create_server(
            ('127.0.0.3', full.getsockname()[1])) as listening:
        port = full.getsockname()[1]
        with socket.create_connection(('127.0.0.2', port)):     # its queue is full: it drops what comes
            resolver.found = ['127.0.0.2', '127.0.0.3']
            with urlfetch.connected('two.example', port, PATIENCE) as made:
                assert made.getpeername() == listening.getsockname()


def test_an_address_that_is_denied_takes_no_time_from_the_next(resolver, allowed):
    with socket.create_server(('127.0.0.1', 0)) as listening:
        resolver.found = ['10.255.255.1', '127.0.0.1']
        cfg.CONF.set_override('template_fetch_deny', ['10.0.0.0/8'])
        try:
            with urlfetch.connected('two.example', listening.getsockname()[1], PATIENCE) as made:
                assert made.getpeername() == listening.getsockname()
        finally:
            cfg.CONF.clear_override('template_fetch_deny')


@pytest.mark.parametrize('name', ['a' * 64 + '.example', 'a..example'])
def test_a_name_that_cannot_exist(allowed, name):
    with pytest.raises(OSError, match='the host cannot be reached'):
        urlfetch.connected(name, 80, PATIENCE)


# --- green processes ---------------------------------------------------------------------------------------

GREEN = '''
import sys
from heatlite.common import runtime
import _socket
from tests import silent_names
resolver = _socket.getaddrinfo = silent_names.Resolver(['127.0.0.1'])
main = silent_names.THREAD()
runtime.patch()
import eventlet, socket

def silent(ask):
    """The other green thread runs while a library looks up a name, and lets the resolver answer."""
    steps = []
    def others():
        for _ in range(50):
            eventlet.sleep(0)
            steps.append(1)
        resolver.is_answering = True
    other = eventlet.spawn(others)
    try:
        print(type(ask()).__name__, end=' ')
    except Exception as error:
        print(type(error).__name__, end=' ')
    other.wait()
    print(len(steps), sum(resolver.asked.values()), main in resolver.threads)
'''
LIBRARIES = {
    'getaddrinfo': 'silent(lambda: socket.getaddrinfo("silent.example", 80))',
    'create_connection': 'silent(lambda: socket.create_connection(("silent.example", 1), 5))',
    'urllib3': 'import requests\nsilent(lambda: requests.get("http://silent.example:1/", timeout=5))',
    'pymysql': 'import pymysql\nsilent(lambda: pymysql.connect(host="silent.example", port=1, user="u"))',
    'amqp': 'import amqp\nsilent(lambda: amqp.Connection("silent.example:1").connect())',
    'psycopg2': 'from heatlite.db.postgresql_connections import Connector\n'
                'silent(lambda: Connector()(host="silent.example", port="1"))',
    'probe': 'from oslo_config import cfg\nfrom heatlite.common import messaging\n'
             'silent(lambda: messaging.probe(cfg.ConfigOpts(), "rabbit://silent.example:1/"))',
}


@pytest.mark.parametrize('library', LIBRARIES)
def test_look_ups_of_libraries_do_not_stop_a_green_process(library):
    done = subprocess.run([sys.executable, '-c', GREEN + LIBRARIES[library]], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    assert done.stdout.split()[1:] == ['50', '1', 'False'], done.stdout + done.stderr


SHARED = '''
found = []
for port in range(300):
    eventlet.spawn(lambda port: found.append(socket.getaddrinfo('silent.example', port)[0][4]), port)
while not resolver.asked:
    eventlet.sleep(0)
resolver.is_answering = True
while len(found) < 300:
    eventlet.sleep(0)
print(len(set(found)), resolver.asked['silent.example'], len(resolver.threads))
'''


def test_hundreds_of_connections_are_one_look_up():
    done = subprocess.run([sys.executable, '-c', GREEN + SHARED], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.stdout.split() == ['300', '1', '1'], done.stdout + done.stderr


FORKED = '''
import os
socket.getaddrinfo('a.example', 80)
child = os.fork()
if not child:
    os._exit(0 if socket.getaddrinfo('b.example', 80) else 1)
print(os.waitpid(child, 0)[1])
'''


def test_a_process_that_was_forked_looks_up_names_as_well():
    done = subprocess.run([sys.executable, '-c', GREEN + FORKED], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.stdout == '0\n', done.stderr
