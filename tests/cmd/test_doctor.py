"""heatlite-manage doctor finds each fault that needs no service, and nothing else."""

import fnmatch
import json
import re
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from oslo_config import cfg
from oslo_log import log

from heatlite.cmd import check_config, plugins
from heatlite.cmd.doctor import (
    broker,
    checks,
    configuration,
    database,
    doctor_command,
    files,
    report,
    running,
    services,
    table,
)
from heatlite.cmd.doctor.site import Site, with_timeouts
from heatlite.common import config, crypt, options, policy_files, release
from heatlite.db import stacks, sync
from heatlite.db.connection import Database, parsed_url
from tests.cmd import doctor_faults
from tests.cmd.doctor_faults import FAULTS, KEY
from tests.db.rows import stack
from tests.system import options as files_of_options
from tests.system.processes import ROOT, free_port

TIMEOUT = 5.0


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """What is slow to make: certificates, and databases."""
    folder = tmp_path_factory.mktemp('doctor')
    now = datetime.now(UTC)
    for name, days in (('valid', 400), ('expired', -2), ('soon', 5)):
        certificate(folder, name, now + timedelta(days=days))
    key_file(folder / 'other-key.pem', ec.generate_private_key(ec.SECP256R1()))
    Database(f'sqlite:///{folder}/empty.sqlite').close()
    (folder / 'empty.sqlite').touch()
    for name, version in (('good', sync.HEAD), ('old', '0001'), ('new', '9999'), ('far', '9999')):
        made = Database(f'sqlite:///{folder}/{name}.sqlite', seal=lambda text: crypt.seal(text, KEY))
        sync.up(made)
        with made.writer() as tx:
            stacks.insert(tx, stack(parameters={'password': 'x'}))
            tx.execute(sync.VERSION_TABLE.update().values(version_num=version))
            for table, column in (('guard', 'lock'), ('stack', 'tags')) if name == 'far' else ():
                tx.exec_driver_sql(f'ALTER TABLE {table} DROP COLUMN "{column}"')
        made.close()
    return folder


def certificate(folder, name, until):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(
        key.public_key()).serial_number(1).not_valid_before(until - timedelta(days=800)).not_valid_after(until).sign(
            key, hashes.SHA256())
    (folder / f'{name}.pem').write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file(folder / f'{name}-key.pem', key)


def key_file(file, key):
    file.touch(mode=0o600)
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()))


@pytest.fixture
def folder(tmp_path, shared, plugin_folders):
    """A folder with what is shared, and with folders for what operators add."""
    for file in shared.iterdir():
        (tmp_path / file.name).symlink_to(file)
    for name in ('plugins', 'environments', 'templates'):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def taken():
    """A port where something listens that does not speak HTTP."""
    with closing(socket.create_server(('127.0.0.1', 0))) as listening:
        yield listening.getsockname()[1]


def healthy(folder):
    ports = {f'{group}.bind_port': str(free_port()) for group in files.APIS}
    return {'DEFAULT.auth_encryption_key': KEY, 'DEFAULT.plugin_dirs': f'{folder}/plugins',
            'DEFAULT.environment_dir': f'{folder}/environments', 'DEFAULT.template_dir': f'{folder}/templates',
            'database.connection': f'sqlite:///{folder}/good.sqlite', 'paste_deploy.flavor': 'noauth', **ports}


def write(folder, given):
    sections = {}
    for name, value in given.items():
        group, _dot, option = name.rpartition('.')
        sections.setdefault(group, {})[option] = value
    files_of_options.write(folder / 'heatlite.conf', sections)
    return folder / 'heatlite.conf'


def site_of(file):
    """The site of a file, with options of its own: those of this process stay as they are."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    config.register_database(conf)
    log.register_options(conf)
    conf.register_cli_opts(options.COMMAND_LINE)
    conf(['--config-file', str(file)], project='heatlite')
    with plugins.silence():
        check_config.register_libraries(conf)
    return Site(conf, TIMEOUT, time.time)


def outcomes_of(site, *names):
    groups = [[check for check in group if check.name in names or (not names and not check.name.startswith('running-'))]
             for group in table.GROUPS]
    with plugins.silence():
        return running.run(groups, site, 60.0)


def test_a_healthy_configuration(folder):
    (folder / 'plugins/lamp.py').write_text(doctor_faults.TYPE)
    found = outcomes_of(site_of(write(folder, healthy(folder))))
    assert [(each.check.name, each.findings) for each in found
            if each.status not in (checks.OK, checks.NOT_USED)] == []


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_a_fault(folder, taken, fault):
    def filled(text):
        return text.replace('{folder}', str(folder)).replace('{port}', str(taken))

    for path, text in fault.files.items():
        (folder / path).write_text(text)
    file = write(folder, {**healthy(folder), **{name: filled(value) for name, value in fault.options.items()}})
    for path, mode in fault.modes.items():
        (folder / path).chmod(mode)
    names = [fault.check, *needs_of(fault.check)]
    found = {each.check.name: each for each in outcomes_of(site_of(file), *names)}
    assert found[fault.check].status == fault.level
    said = '\n'.join(f'{each.expected}\n{each.found}\n{each.fix}' for each in found[fault.check].findings)
    assert all(filled(word) in said for word in fault.says), said
    assert 'hidden' not in said
    assert all(each.expected and each.found and each.fix for each in found[fault.check].findings)
    assert [name for name, each in found.items() if each.status == checks.FAILED and name != fault.check] == []


def needs_of(name):
    check = next(each for each in table.CHECKS if each.name == name)
    return [each for need in check.needs for each in (need, *needs_of(need))]


# --- the command ------------------------------------------------------------------------------------------

def run(file, *arguments):
    """(exit code, what is printed, errors)."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(file), 'doctor', *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(file.parent)})
    return done.returncode, done.stdout, done.stderr


def test_the_command(folder):
    file = write(folder, {**healthy(folder), 'DEFAULT.transport_url': 'rabbit://ann:hidden@127.0.0.1:1/'})
    code, said, complained = run(file, '--skip', 'running-*')
    lines = said.splitlines()
    assert code == 1 and complained == ''
    assert any(line.split()[:2] == ['FAILED', 'broker-hosts'] for line in lines)
    assert '          found:    127.0.0.1:1: Connection refused' in lines
    assert any(line.startswith('left out  broker-login') and line.endswith('needs broker-hosts') for line in lines)
    assert 'FAILED: 1' in lines[-1] and 'hidden' not in said
    code, said, _complained = run(file, '--format', 'json', '--only', 'database-*', '--only', 'policy')
    found = json.loads(said)
    assert code == 0 and found['is_ok'] and found['totals']['FAILED'] == 0
    assert {each['name'] for each in found['checks']} == {
        check.name for check in database.CHECKS} | {'policy'}


def test_what_cannot_start(folder):
    code, said, complained = run(write(folder, {**healthy(folder), 'engine.lease_ttl': 'banana'}))
    assert code == 2 and said == '' and 'lease_ttl = banana' in complained and len(complained.splitlines()) == 1
    (folder / 'heatlite.conf').write_text('no section and no sense')
    code, said, complained = run(folder / 'heatlite.conf')
    assert code == 2 and said == '' and len(complained.splitlines()) == 1
    file = write(folder, healthy(folder))
    assert run(file, '--only', 'nothing')[0] == 2
    assert run(file, '--time', 'long')[0] == 2
    code, said, _complained = run(file, '--list')
    assert code == 0 and [line.split()[0] for line in said.splitlines()[1:]] == [each.name for each in table.CHECKS]


def test_names_are_unique_and_needs_exist():
    names = [each.name for each in table.CHECKS]
    assert len(set(names)) == len(names)
    assert all(names.index(need) < names.index(each.name) for each in table.CHECKS for need in each.needs)


# --- running ----------------------------------------------------------------------------------------------

def site():
    return Site(None, 1.0, time.time)


def test_a_check_that_hangs_ends_with_the_time():
    never = socket.socketpair()
    with closing(never[0]), closing(never[1]):
        before = checks.Check('before', 'it has ended', lambda _site: [])
        hanging = checks.Check('hanging', 'it hangs', lambda _site: never[0].recv(1))
        after = checks.Check('after', 'it comes later', lambda _site: [])
        waiting = checks.Check('waiting', 'it waits', lambda _site: [], ('hanging',))
        beside = checks.Check('beside', 'it does not', lambda _site: [])
        found = running.run([[], [before, hanging, after], [waiting], [beside]], site(), 0.2)
    assert [each.status for each in found] == [
        checks.OK, checks.FAILED, checks.LEFT_OUT, checks.LEFT_OUT, checks.OK]
    assert [each.reason for each in found[2:4]] == ['no time was left after hanging'] * 2


def test_a_hanging_plug_in_leaves_time_for_the_others():
    never = socket.socketpair()
    with closing(never[0]), closing(never[1]):
        hanging = checks.Check('hanging', 'it hangs', lambda _site: never[0].recv(1))
        beside = checks.Check('beside', 'it does not', lambda _site: [])
        found = running.run([[hanging], [beside]], site(), 0.2)
    assert [each.status for each in found] == [checks.FAILED, checks.OK]


def test_a_check_that_raises_has_failed():
    def refuse(_site):
        raise ValueError('no\nsuch thing')

    found, = running.run([[checks.Check('refusing', 'it works', refuse)]], site(), 10.0)
    assert found.status == checks.FAILED and found.findings[0].found == 'ValueError: no such thing'


def test_an_unused_check_is_no_failure():
    unused = checks.Check('unused', 'x', lambda _site: [], unused=lambda _site: 'no such option')
    after = checks.Check('after', 'x', lambda _site: [], ('unused',))
    assert [each.status for each in running.run([[unused, after]], site(), 10.0)] == [checks.NOT_USED, checks.OK]


# --- verdicts ---------------------------------------------------------------------------------------------

GRANTS = ["GRANT USAGE ON *.* TO `ann`@`%` IDENTIFIED BY PASSWORD '*0'", 'GRANT `role` TO `ann`@`%`']


@pytest.mark.parametrize('grant, missing', [
    ('GRANT ALL PRIVILEGES ON `heat`.* TO `ann`@`%`', []),
    ('GRANT ALL PRIVILEGES ON *.* TO `ann`@`%` WITH GRANT OPTION', []),
    ('GRANT ALL PRIVILEGES ON `he_t`.* TO `ann`@`%`', []),
    ('GRANT ALL PRIVILEGES ON `h%`.* TO `ann`@`%`', []),
    ('GRANT ALL PRIVILEGES ON `he\\_t`.* TO `ann`@`%`', list(database.RIGHTS)),
    ('GRANT ALL PRIVILEGES ON `heat`.`stack` TO `ann`@`%`', list(database.RIGHTS)),
    ('GRANT ALL PRIVILEGES ON `other`.* TO `ann`@`%`', list(database.RIGHTS)),
    ('GRANT SELECT, INSERT, UPDATE, DELETE ON `heat`.* TO `ann`@`%`', ['CREATE', 'DROP', 'ALTER', 'INDEX']),
])
def test_rights_by_grants(grant, missing):
    assert database.missing_rights([*GRANTS, grant], 'heat') == missing


@pytest.mark.parametrize('text, supported', [
    ('10.11.6-MariaDB-0+deb12u1', True), ('10.5.29-MariaDB', False), ('8.0.36', True), ('8.0.0', False),
    ('5.7.44-log', False), ('PostgreSQL 15.5 (Debian 15.5-0) on x86_64', True), ('PostgreSQL 9.4.1 on x', False)])
def test_versions_of_servers(text, supported):
    assert database.is_supported(text) is supported


@pytest.mark.parametrize('settings, words, level', [
    ({'read_only': 'ON'}, 'read-only', checks.FAILED),
    ({'log_bin': 'ON', 'binlog_format': 'STATEMENT'}, 'binlog_format', checks.FAILED),
    ({'max_allowed_packet': '1048576'}, 'max_allowed_packet', checks.FAILED),
    ({'max_allowed_packet': '8000000'}, 'max_allowed_packet', checks.WARNING),
    ({'innodb_flush_log_at_trx_commit': '2'}, 'innodb_flush_log_at_trx_commit', checks.WARNING),
    ({'wsrep_on': 'ON', 'wsrep_ready': 'OFF'}, 'quorum', checks.FAILED)])
def test_settings_of_mysql(settings, words, level):
    found, = database.mysql_settings(settings, (1_400_000, 11_000_000), None)
    assert words in f'{found.found} {found.fix}' and found.level == level


def test_settings_of_galera():
    assert list(database.mysql_settings({'wsrep_on': 'ON', 'innodb_flush_log_at_trx_commit': '2'}, (1, 1), 7)) == []
    found, = database.mysql_settings({'wsrep_on': 'ON'}, (1, 1), 0)
    assert 'mysql_wsrep_sync_wait' in found.fix


@pytest.mark.parametrize('settings, words', [
    ({'default_transaction_read_only': 'on'}, ['read-only']),
    ({'fsync': 'off'}, ['fsync']),
    ({'synchronous_commit': 'off', 'synchronous_standby_names': 'two'}, ['synchronous_commit is off']),
    ({'synchronous_commit': 'local', 'synchronous_standby_names': 'two'}, ['synchronous_commit is local']),
    ({'synchronous_commit': 'local', 'synchronous_standby_names': ''}, []),
    ({'synchronous_commit': 'on', 'synchronous_standby_names': 'two'}, [])])
def test_settings_of_postgresql(settings, words):
    found = [each.found for each in database.postgresql_settings(settings, (1, 1), None)]
    assert len(found) == len(words) and all(word in text for word, text in zip(words, found, strict=True))


@pytest.mark.parametrize('seconds, level', [
    (0.0, []), (-1.9, []), (3.0, [checks.WARNING]), (-90.0, [checks.FAILED])])
def test_clocks(seconds, level):
    assert [each.level for each in database.clocks_differ(seconds, 'the other')] == level


@pytest.mark.parametrize('moment, seconds', [(99.5, -0.5), (100.0, 0.0), (104.0, 0.0), (106.0, 1.0)])
def test_a_clock_that_was_read_within_a_time(moment, seconds):
    assert database.outside(moment, 100.0, 105.0) == seconds
    assert database.outside(99.5, 100.0, 105.0, 1.0) == 0.0


def test_numbers_that_do_not_suffice():
    assert [each.level for each in files.enough_space('the log', '/var/log', 100 << 20)] == [checks.WARNING]
    assert [each.level for each in files.enough_space('the log', '/var/log', 1 << 20)] == [checks.FAILED]
    assert not list(files.enough_space('the log', '/var/log', 1 << 40))
    assert [each.level for each in files.enough_descriptors(1024, 4096)] == [checks.WARNING]
    assert not list(files.enough_descriptors(65536, 4096))
    assert [each.level for each in database.enough_connections(151, 5, 20)] == [checks.WARNING]
    assert not list(database.enough_connections(400, 5, 20))


@pytest.mark.parametrize('url, hosts', [
    ('mysql+pymysql://u:p@db/heat', [('db', 3306)]),
    ('mysql+pymysql://u:p@db:13306/heat', [('db', 13306)]),
    ('postgresql://u:p@/heat?host=a:1&host=b:2', [('a', 1), ('b', 2)]),
    ('postgresql://u:p@/heat?host=/var/run/postgresql', [])])
def test_hosts_of_a_database(url, hosts):
    assert database.hosts(parsed_url(url)) == hosts


def test_a_database_gets_time_outs():
    assert 'connect_timeout=5' in with_timeouts('mysql://u:p@db/heat', 5.0)
    assert 'connect_timeout=5' in with_timeouts('postgresql://u:p@db/heat', 5.0)
    assert with_timeouts('mysql://u:p@db/heat?connect_timeout=9', 5.0).count('connect_timeout=9') == 1


def test_secrets_are_hidden(folder):
    file = write(folder, {**healthy(folder), 'DEFAULT.transport_url': 'rabbit://ann:p%40ssword@one:1,bob:secret@two/',
                          'trustee.auth_type': 'password', 'trustee.password': 'tr.st*e'})
    hide = report.hiding(site_of(file).conf)
    assert hide('refused: p@ssword, "secret", tr.st*e') == 'refused: ***, "***", ***'
    assert hide(f'/etc/secret/x secretary {KEY}') == '/etc/secret/x secretary ***'


def test_every_rule_is_broken_by_something():
    """No rule about time-outs speaks about options that do not exist."""
    conf = site_of_defaults()
    assert not [expected for is_broken, expected, found, _fix in configuration.RULES if is_broken(conf)]
    assert all(isinstance(found(conf), str) for _is_broken, _expected, found, _fix in configuration.RULES)


def site_of_defaults():
    conf = cfg.ConfigOpts()
    config.register(conf)
    config.register_database(conf)
    log.register_options(conf)
    conf.register_cli_opts(options.COMMAND_LINE)
    conf([], project='heatlite', default_config_files=[])
    with plugins.silence():
        check_config.register_libraries(conf)
    return conf


def test_queues_are_declared_as_the_messaging_library_does():
    from oslo_messaging._drivers import impl_rabbit
    for quorum, limit in ((False, 0), (True, 5)):
        conf = site_of_defaults()
        conf.set_override('rabbit_quorum_queue', quorum, group='oslo_messaging_rabbit')
        conf.set_override('rabbit_quorum_delivery_limit', limit, group='oslo_messaging_rabbit')
        given = conf.oslo_messaging_rabbit
        theirs = impl_rabbit._get_queue_arguments(
            given.rabbit_ha_queues, 0, quorum, impl_rabbit.QuorumMemConfig(limit, 0, 0), False)
        assert broker.arguments(given) == (quorum, theirs)


def test_time_outs_are_bounded():
    assert doctor_command.TIME <= 30.0 and doctor_command.TIMEOUT < doctor_command.TIME


def test_the_page_has_all_checks():
    page = (ROOT / 'docs/operators/doctor.rst').read_text()
    rows = re.findall(r'^   \* - ``([\w-]+)``\n     - (.*)', page, re.MULTILINE)
    assert [name for name, _text in rows] == [each.name for each in table.CHECKS]
    assert all(text.startswith(each.tests) for each, (_name, text) in zip(table.CHECKS, rows, strict=True))


def test_pages_name_checks_that_exist():
    text = (ROOT / 'docs/operators/troubleshooting.rst').read_text()
    named = re.findall(r'Checks?:\s+((?:``[\w*-]+``(?:,\s+)?)+)', text)
    patterns = [name for each in named for name in re.findall(r'``([\w*-]+)``', each)]
    assert len(patterns) >= 8
    assert not [each for each in patterns if not any(fnmatch.fnmatchcase(check.name, each) for check in table.CHECKS)]


def test_a_driver_that_is_missing_has_a_fix_of_its_own(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, 'psycopg2', None)
    site = site_of(write(folder, {**healthy(folder), 'database.connection': 'postgresql://ann:hidden@127.0.0.1:1/x'}))
    found = [each for each in outcomes_of(site, 'configuration')[0].findings if '[database] connection' in each.found]
    assert [each.level for each in found] == [checks.FAILED]
    assert 'heatlite.conf:' in found[0].found and 'Python module psycopg2' in found[0].found
    assert found[0].fix == release.INSTALL_EXTRA % 'postgres' and 'hidden' not in found[0].found


@pytest.mark.parametrize('given, module, option, level', [
    ({'keystone_authtoken.memcached_servers': '127.0.0.1:1', 'paste_deploy.flavor': ''}, 'memcache',
     '[keystone_authtoken] memcached_servers', checks.WARNING),
    ({'cache.enabled': 'true', 'cache.backend': 'oslo_cache.memcache_pool'}, 'memcache', '[cache] backend',
     checks.FAILED),
    ({'cache.enabled': 'true', 'cache.backend': 'dogpile.cache.pymemcache'}, 'pymemcache', '[cache] backend',
     checks.FAILED)])
def test_a_library_of_memcached_that_is_missing_is_named(folder, monkeypatch, given, module, option, level):
    def found():
        site = site_of(write(folder, {**healthy(folder), **given}))
        return [each for each in outcomes_of(site, 'configuration')[0].findings if option in each.found]

    assert found() == []
    monkeypatch.setitem(sys.modules, module, None)
    assert [(each.level, each.fix) for each in found()] == [
        (level, release.INSTALL_EXTRA % 'memcached')]
    assert 'heatlite.conf:' in found()[0].found and 'the extra "memcached"' in found()[0].found


@pytest.mark.parametrize('flavor', ['noauth', 'standalone'])
def test_apis_that_validate_no_tokens_need_no_memcached(folder, monkeypatch, flavor):
    monkeypatch.setitem(sys.modules, 'memcache', None)
    site = site_of(write(folder, {**healthy(folder), 'paste_deploy.flavor': flavor,
                                  'keystone_authtoken.memcached_servers': '127.0.0.1:1'}))
    assert [each for each in outcomes_of(site, 'configuration')[0].findings if 'memcached' in each.found] == []


def test_a_cache_that_is_off_needs_no_library(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, 'memcache', None)
    site = site_of(write(folder, {**healthy(folder), 'cache.backend': 'oslo_cache.memcache_pool'}))
    assert not outcomes_of(site, 'configuration')[0].findings


@pytest.mark.parametrize('api, option, level, fix', [
    (services.CLOUDWATCH, 'heat_watch_server_url', checks.WARNING, 'remove the endpoint'),
    (services.CLOUDFORMATION, 'heat_waitcondition_server_url', checks.FAILED, 'correct the endpoint')])
def test_an_api_that_does_not_answer(folder, api, option, level, fix):
    """The service works without the CloudWatch API."""
    written = healthy(folder)
    written[f'DEFAULT.{option}'] = f'http://127.0.0.1:{free_port()}/v1'
    [found] = services.answers(site_of(write(folder, written)), api)
    assert (found.level, fix in found.fix) == (level, True)


def test_check_config_names_the_rule_that_was_meant(folder, capsys):
    """A restriction with a typing error is no restriction."""
    (folder / 'policy.yaml').write_text('"stacks:creat": "!"\n"lead": "role:lead"\n"stacks:delete": "rule:lead"\n')
    site = site_of(write(folder, {**healthy(folder), 'oslo_policy.policy_file': f'{folder}/policy.yaml'}))
    assert check_config.run(site.conf) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if 'There is no rule' in line]
    assert said == [f'warning: {folder}/policy.yaml: There is no rule "stacks:creat"; did you mean stacks:create?']


def test_the_examples_of_access_rules_are_rules(folder):
    page = (ROOT / 'docs/operators/policy.rst').read_text().partition('\nExamples\n')[2]
    file = folder / 'policy.yaml'
    file.write_text(textwrap.dedent(re.search(r'::\n\n((?:    .*\n|\n(?=    ))+)', page)[1]))
    assert len(policy_files.parse(file, file.read_text())) >= 8
    assert list(check_config.wrong_rules(file)) == []
