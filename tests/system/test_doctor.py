"""heatlite-manage doctor over the production profile: healthy without a word, and each fault found by its check."""

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import uuid
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db import stacks, sync, tables
from heatlite.db.connection import Database
from tests.db.rows import NOW, stack
from tests.system import databases, doctor_faults, identities, production, service
from tests.system.doctor_faults import FAULTS
from tests.system.processes import OPENER, ROOT, free_port
from tests.system.servers import HOST

pytestmark = [pytest.mark.service, pytest.mark.skipif(
    not production.is_possible() or databases.FIRST != 'mariadb', reason=production.REASON)]

KEY = '0123456789abcdef0123456789abcdef'
LATE = timedelta(hours=1)


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    with production.Production(tmp_path_factory.mktemp('doctor')) as made:
        yield made


@pytest.fixture(scope='module')
def arranged(cloud):
    """What the braces of the faults stand for."""
    with ExitStack() as cleanup:
        server = sa.make_url(databases.SERVERS['mariadb'])
        keystone_port = cleanup.enter_context(late_keystone())
        broker = str(production.RABBIT)
        closed = free_port()
        yield {
            'host': HOST, 'port': str(closed), 'api': cloud.url,
            'silent': str(cleanup.enter_context(closing(socket.create_server((HOST, 0)))).getsockname()[1]),
            'wrong_password': shown(sa.make_url(cloud.database_url).set(password='wrong')),
            'no_database': shown(server.set(database='no_such_database')),
            **made_databases(cleanup, server),
            'utf8': shown(sa.make_url(cloud.database_url).update_query_dict({'charset': 'utf8'})),
            'clock': with_clock(cloud.database_url, 3600), 'slow': with_clock(cloud.database_url, 30),
            'two_brokers': broker.rstrip('/') + f',heatlite:heatlite@{HOST}:{closed}/',
            'wrong_broker_password': broker.replace(':heatlite@', ':wrong@'),
            'no_virtual_host': broker.rstrip('/') + '/nowhere',
            'late_keystone': f'http://{HOST}:{keystone_port}/v3',
            'domain_reader': domain_reader(cleanup),
            **{f'region_{name}': cleanup.enter_context(service.catalogued(url)) for name, url in (
                ('without_project', f'{cloud.url}/v1'), ('closed', f'http://{HOST}:{closed}/v1/%(project_id)s'),
                ('of_keystone', f'{service.KEYSTONE.removesuffix("/v3")}/v1/%(project_id)s'))}}


def shown(url):
    return url.render_as_string(hide_password=False)


def with_clock(url, seconds):
    """The server as if its clock were so many seconds behind."""
    return shown(sa.make_url(url).update_query_dict(
        {'init_command': f'SET @@timestamp = UNIX_TIMESTAMP() - {seconds}'}))


def made_databases(cleanup, server):
    """URLs of databases with one fault each."""
    found = {}
    for name in ('empty', 'reader', 'collation', 'myisam', 'sealed', 'used'):
        database = f'heatlite_{name}_{uuid.uuid4().hex[:8]}'
        found[name] = databases.create(server, database)
        cleanup.callback(databases.drop, server, database)
        if name != 'empty':
            prepare(found[name])
    run_sql(found['collation'], 'ALTER TABLE stack_tag CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci')
    run_sql(found['myisam'], 'ALTER TABLE signal_error ENGINE=MyISAM')
    with_a_server(found['used'])
    reader, database = f'reader_{uuid.uuid4().hex[:8]}', sa.make_url(found['reader']).database
    run_sql(found['reader'], f"CREATE USER {reader}@'%' IDENTIFIED BY 'secret'",
            # What GRANT does: the user of the tests may not grant, but write everything.
            'INSERT INTO mysql.db (host, db, user, select_priv, insert_priv, update_priv, delete_priv) '
            f"VALUES ('%', '{database}', '{reader}', 'Y', 'Y', 'Y', 'Y')", 'FLUSH PRIVILEGES')
    cleanup.callback(run_sql, found['reader'], f"DROP USER {reader}@'%'")
    found['reader'] = shown(sa.make_url(found['reader']).set(username=reader, password='secret'))
    return found


def prepare(url):
    """Makes the tables, and stores something that is sealed."""
    made = Database(url, seal=lambda text: crypt.seal(text, KEY))
    sync.up(made)
    with made.writer() as tx:
        stacks.insert(tx, stack(parameters={'password': 'x'}))
    made.close()


def with_a_server(url):
    made = Database(url)
    with made.writer() as tx:
        tx.execute(tables.resource.insert().values(
            stack_id='s1', id=1, name='server', uuid=str(uuid.uuid4()), type='OS::Nova::Server', action='CREATE',
            status='COMPLETE', reason='', requires='{}', fingerprint='', created_at=NOW))
    made.close()


def run_sql(url, *statements):
    engine = sa.create_engine(url, isolation_level='AUTOCOMMIT')
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    engine.dispose()


def domain_reader(cleanup):
    """A user of the domain for users inside stacks that may only read there."""
    keystone, name = service.admin(), f'reader_{uuid.uuid4().hex[:8]}'
    domain = keystone.get('/domains?name=heatlite').json()['domains'][0]['id']
    role = keystone.get('/roles?name=reader').json()['roles'][0]['id']
    user = keystone.post('/users', json={'user': {
        'name': name, 'domain_id': domain, 'password': 'secret'}}).json()['user']['id']
    cleanup.callback(identities.remove, keystone, f'/users/{user}')
    keystone.put(f'/domains/{domain}/users/{user}/roles/{role}')
    return name


@contextmanager
def late_keystone():
    """The port of a proxy before Keystone, whose tokens are an hour old when they are issued."""
    class Proxy(BaseHTTPRequestHandler):
        def _forward(self):
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0)) or None
            request = urllib.request.Request(
                service.KEYSTONE.removesuffix('/v3') + self.path, body, method=self.command,
                headers={name: value for name, value in self.headers.items() if name.lower().startswith(
                    ('content-type', 'accept', 'x-'))})
            try:
                answer = OPENER.open(request, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                content = answer.read()
                if self.path.endswith('/auth/tokens') and answer.status == 201:
                    document = json.loads(content)
                    issued = datetime.strptime(document['token']['issued_at'], '%Y-%m-%dT%H:%M:%S.%fZ') - LATE
                    document['token']['issued_at'] = issued.strftime('%Y-%m-%dT%H:%M:%S.%fZ')
                    content = json.dumps(document).encode()
                self.send_response(answer.status)
                for name in ('Content-Type', 'X-Subject-Token'):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.send_header('Content-Length', str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _forward

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer((HOST, 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def doctor(cloud, options, *arguments):
    """(exit code, the document that is printed)."""
    assignments = [part for name, value in options.items() for part in ('--set', f'{name}={value}')]
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(cloud.file), *assignments,
         'doctor', '--format', 'json', '--timeout', '2', *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60, env={
            **os.environ, 'PYTHONPATH': str(ROOT), 'HEATLITE_TEST_LEDGER': str(cloud.ledger)})
    assert done.returncode in (0, 1) and done.stderr == '', done.stderr
    assert 'secret' not in done.stdout.replace('stored secrets', ''), done.stdout
    return done.returncode, json.loads(done.stdout)


def test_a_healthy_cluster(cloud):
    code, found = doctor(cloud, {})
    assert [each for each in found['checks'] if each['status'] not in ('ok', 'not used')] == []
    assert code == 0 and found['is_ok']


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_a_fault(cloud, arranged, fault):
    started = any(name.startswith('running-') for name in fault.checks)
    options = {name: value.format(**arranged) for name, value in fault.options.items()}
    code, found = doctor(cloud, options, *([] if started else ['--skip', 'running-*']))
    by_status = {status: [each for each in found['checks'] if each['status'] == status]
                 for status in (doctor_faults.FAILED, doctor_faults.WARNING)}
    seen = [each['name'] for each in by_status[fault.level] if started is each['name'].startswith('running-')]
    assert seen == list(fault.checks), by_status
    if fault.level == doctor_faults.WARNING:
        assert code == 0 and by_status[doctor_faults.FAILED] == []
    else:
        assert code == 1
    first = next(each for each in found['checks'] if each['name'] == fault.checks[0])
    said = '\n'.join(' '.join(each.values()) for each in first['findings'])
    assert all(word.format(**arranged) in said for word in fault.says), said


@pytest.mark.skipif(not databases.SERVERS['postgresql'], reason='needs PostgreSQL: tools/services up')
def test_postgresql(cloud):
    server, name = databases.SERVERS['postgresql'], f'heatlite_doctor_{uuid.uuid4().hex[:8]}'
    reader = f'reader_{uuid.uuid4().hex[:8]}'
    url = databases.create(server, name)
    only = ('--only', 'database-*')
    try:
        prepare(url)
        code, found = doctor(cloud, {'database.connection': url, 'DEFAULT.num_engine_workers': '1'}, *only)
        assert code == 0 and {each['status'] for each in found['checks']} == {'ok'}, found
        run_sql(url, f"CREATE ROLE {reader} LOGIN PASSWORD 'secret'",
                f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {reader}',
                f'REVOKE INSERT ON event FROM {reader}')
        theirs = shown(sa.make_url(url).set(username=reader, password='secret'))
        code, found = doctor(cloud, {'database.connection': theirs, 'DEFAULT.num_engine_workers': '1'}, *only)
        failed = [each for each in found['checks'] if each['status'] == 'FAILED']
        assert code == 1 and [each['name'] for each in failed] == ['database-rights']
        said = failed[0]['findings'][0]['found']
        assert 'ALTER (stack)' in said and 'SELECT, INSERT, UPDATE, DELETE (event)' in said
        wrong = shown(sa.make_url(url).set(password='wrong'))
        code, found = doctor(cloud, {'database.connection': wrong}, *only)
        assert [each['name'] for each in found['checks'] if each['status'] == 'FAILED'] == ['database-login']
    finally:
        databases.drop(server, name)
        run_sql(server, f'DROP ROLE IF EXISTS {reader}')
