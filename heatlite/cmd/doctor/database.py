"""Checks of the database: reached, supported, with all rights, of this release and of this key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.files import APIS
from heatlite.cmd.doctor.site import Site
from heatlite.common import crypt, exception, key_manager
from heatlite.common.i18n import _
from heatlite.common.settings import EXAMPLE_DATABASE
from heatlite.common.wording import first_few
from heatlite.db import sealing, sync, tables
from heatlite.db.connection import CLOCKS, parsed_url

if TYPE_CHECKING:
    from heatlite.db.connection import Database

OPTION = '[database] connection'
PORTS = {'mysql': 3306, 'postgresql': 5432}
OLDEST = {'MariaDB': (10, 6), 'MySQL': (8, 0, 1), 'PostgreSQL': (9, 5)}
RIGHTS = ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER', 'INDEX')
CLOCK_WARNING, CLOCK_FAILURE = 2.0, 60.0         # seconds between the clocks of this host and of the database
SEALED_SIZE = 4 / 3                             # base64 of an encrypted text, in its own size
WRITABLE = _('Let [database] connection name the primary server, or end its read-only mode.')
# Words in the answer of a server to a login -> what is wrong, and the fix.
REFUSALS = (
    (('Access denied for user', 'password authentication failed', 'no pg_hba.conf entry', 'is not allowed to connect'),
     _('Correct the user and the password in [database] connection, or create this user on the server (CREATE USER) '
       'and allow it to use the database (GRANT).')),
    (('Unknown database', 'does not exist', 'Access denied for user'),
     _('Create the database (CREATE DATABASE ... CHARACTER SET utf8mb4), or correct its name in [database] '
       'connection.')),
    (('Too many connections', 'too many clients'), _('Raise max_connections of the server, or lower [database] '
                                                     'max_pool_size and max_overflow.')),
    (('session is read-only',), WRITABLE),
    (('SSL', 'TLS', 'certificate'), _('Correct the parameters for TLS in [database] connection, or the certificate of '
                                      'the server.')),
)
UNREACHABLE = _('Start the database server, correct host and port in [database] connection, or open the firewall '
                'between both.')


# --- reached ----------------------------------------------------------------------------------------------

def hosts(url: sa.URL) -> list[tuple[str, int]]:
    """(host, port) of all servers that a URL names; none for a file or a socket."""
    port = url.port or PORTS.get(url.get_backend_name(), 0)
    named = url.query.get('host', ())
    texts = [named] if isinstance(named, str) else list(named)
    found = [] if url.host is None else [(url.host, port)]
    for text in (part for each in texts for part in each.split(',')):
        host, colon, own = text.rpartition(':')
        if not text.startswith('/'):
            found.append((host, int(own)) if colon and own.isdigit() else (text, port))
    return found


def reachable(site: Site) -> Iterator[DoctorFinding]:
    for host, port in hosts(parsed_url(site.conf.database.connection)):
        problem = site.connect(host, port)
        if problem:
            yield DoctorFinding(_('The database server of [database] connection accepts connections.'), problem,
                                UNREACHABLE)


def connected(site: Site) -> Iterator[DoctorFinding]:
    if not site.conf.database.connection:
        yield DoctorFinding(_('The option [database] connection has the URL of the database.'), _('It is not set.'),
                            _('Set [database] connection = mysql+pymysql://USER:PASSWORD@HOST/NAME in heatlite.conf.'))
        return
    try:
        database = site.database
        file = database.url.database if database.dialect == 'sqlite' else None
        if file and not Path(file).exists():            # connecting would create it
            yield DoctorFinding(_('The file of the database exists.'), _('There is no %s.') % file,
                                _('Correct [database] connection, or run heatlite-manage db_sync.'))
            return
        with database.reader() as tx:
            tx.execute(sa.select(sa.literal(1)))
    except exception.HeatException as error:
        text = str(error)
        fix = next((fix for words, fix in REFUSALS if any(word in text for word in words)), UNREACHABLE)
        if 'to database' in text and 'Access denied' in text:
            fix = REFUSALS[1][1]
        yield DoctorFinding(_('The user of [database] connection logs in to its database.'), text, fix)


def not_sqlite(site: Site) -> str:
    return _('SQLite') if (site.conf.database.connection or '').startswith('sqlite') else ''


# --- the server -------------------------------------------------------------------------------------------

def kind_and_version(text: str) -> tuple[str, tuple[int, ...]]:
    """Of what the server answers to SELECT VERSION()."""
    kind = 'PostgreSQL' if text.startswith('PostgreSQL') else 'MariaDB' if 'MariaDB' in text else 'MySQL'
    found = re.search(r'\d+(?:\.\d+)*', text)
    return kind, tuple(int(part) for part in found[0].split('.')) if found else ()


def is_supported(text: str) -> bool:
    kind, version = kind_and_version(text)
    return version >= OLDEST[kind]


def server(site: Site) -> Iterator[DoctorFinding]:
    with site.database.reader() as tx:
        text = str(tx.exec_driver_sql('SELECT VERSION()').scalar_one())
    if not is_supported(text):
        yield DoctorFinding(_('The server is MariaDB 10.6, MySQL 8.0.1, PostgreSQL 9.5 or newer.'),
                            _('It is %s.') % text.split(',')[0], _('Upgrade the database server.'))


def clock(site: Site) -> Iterator[DoctorFinding]:
    before = site.now()
    with site.database.reader() as tx:
        theirs = float(tx.exec_driver_sql(f'SELECT {CLOCKS[site.database.dialect]}').scalar_one())
    yield from clocks_differ(outside(theirs, before, site.now()), _('the database server'))


def outside(moment: float, before: float, after: float, precision: float = 0.0) -> float:
    """Seconds by which a moment that was read between `before` and `after` lies after (negative: before) both.

    `precision`: seconds of which the fraction has been cut off.
    """
    return max(moment - after, 0.0) + min(moment + precision - before, 0.0)


def clocks_differ(seconds: float, peer: str) -> Iterator[DoctorFinding]:
    """`seconds`: by which the clock of the peer is ahead of ours."""
    if abs(seconds) > CLOCK_WARNING:
        yield DoctorFinding(
            _('The clocks of this host and of %(peer)s differ by less than %(most)g s.')
            % {'peer': peer, 'most': CLOCK_WARNING},
            _('The other one is %(seconds).1f s %(where)s; here it is %(now)s.') % {
                'seconds': abs(seconds), 'where': _('ahead') if seconds > 0 else _('behind'),
                'now': datetime.now(UTC).isoformat(timespec='seconds')},
            _('Synchronise both hosts with the same time servers (chronyc tracking shows the state).'),
            FAILED if abs(seconds) > CLOCK_FAILURE else WARNING)


# --- rights -----------------------------------------------------------------------------------------------

_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?:TABLE )?(?P<scope>`?.+?`?\.`?.+?`?|\*\.\*) TO ", re.DOTALL)


def missing_rights(grants: Iterable[str], database: str, needed: Sequence[str] = RIGHTS) -> list[str]:
    """Return the rights on all tables of a database that SHOW GRANTS of MySQL or MariaDB does not list."""
    held: set[str] = set()
    for text in grants:
        found = _GRANT.match(text)
        if found is None:
            continue
        schema, _dot, table = found['scope'].replace('`', '').rpartition('.')
        if table != '*' or not _matches(schema, database):
            continue
        held.update(part.strip().upper() for part in found['rights'].split(','))
    return [] if 'ALL PRIVILEGES' in held or 'ALL' in held else [each for each in needed if each not in held]


def _matches(pattern: str, name: str) -> bool:
    """Whether a database is meant by the name in a grant, where % and _ are wildcards unless escaped."""
    if pattern == '*':
        return True
    parts = re.split(r'(\\[%_]|%|_)', pattern)
    expression = ''.join({'%': '.*', '_': '.'}.get(part, re.escape(part.removeprefix('\\'))) for part in parts)
    return re.fullmatch(expression, name) is not None


def rights(site: Site) -> Iterator[DoctorFinding]:
    database = site.database
    missing = {'mysql': _mysql_rights, 'postgresql': _postgresql_rights}[database.dialect](database)
    if missing:
        yield DoctorFinding(
            _('The user of [database] connection may create, change, read and write all tables.'),
            _('It has not: %s.') % ', '.join(missing),
            _('As administrator of the server: GRANT ALL ON %s.* TO the user.') % database.url.database
            if database.dialect == 'mysql' else
            _('As administrator of the server: make the user the owner of the database and of its tables, or GRANT '
              'what is missing.'))


def _mysql_rights(database: Database) -> list[str]:
    with database.reader() as tx:
        grants = [str(text) for text in tx.exec_driver_sql('SHOW GRANTS').scalars()]
        name = str(tx.exec_driver_sql('SELECT DATABASE()').scalar_one())
        for role in re.findall(r"^GRANT (`[^`]+`)(?:@`[^`]*`)? TO ", '\n'.join(grants), re.MULTILINE):
            try:
                grants += [str(text) for text in tx.execute(sa.text(f'SHOW GRANTS FOR {role}')).scalars()]
            except (sa.exc.DBAPIError, db_exception.DBError):
                continue                        # the rights of this role stay unknown
    return missing_rights(grants, name)


def _postgresql_rights(database: Database) -> list[str]:
    names = list(tables.metadata.tables)
    with database.reader() as tx:
        found = [] if tx.exec_driver_sql("SELECT has_schema_privilege(current_schema(), 'CREATE')").scalar() else [
            'CREATE']
        rows = tx.execute(sa.text(
            "SELECT tablename, pg_has_role(tableowner, 'USAGE'), "
            "has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), "
            "'SELECT') AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'INSERT') "
            "AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'UPDATE') AND "
            "has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'DELETE') "
            'FROM pg_tables WHERE schemaname = current_schema()'))
        for name, owns, may_write in rows:
            if name in names and not may_write:
                found.append(f'SELECT, INSERT, UPDATE, DELETE ({name})')
            elif name in names and not owns:
                found.append(f'ALTER ({name})')
    return found


# --- contents ---------------------------------------------------------------------------------------------

def schema(site: Site) -> Iterator[DoctorFinding]:
    yield from schema_of(site.database)


def schema_of(database: Database) -> Iterator[DoctorFinding]:
    found = sync.version(database)
    if found == sync.HEAD:
        return
    try:
        sync.check_owner(found)
    except exception.Error as error:
        yield DoctorFinding(_('The tables have version %s.') % sync.HEAD, str(error),
                            _('Set [database] connection = %s, of a database that is empty or that of heatlite.')
                            % EXAMPLE_DATABASE)
        return
    if found is not None and found > sync.HEAD:
        yield _newer(found, missing_columns(database))
        return
    yield DoctorFinding(_('The tables have version %s.') % sync.HEAD,
                        _('They have version %s.') % found if found else _('There are no tables.'),
                        _('Run heatlite-manage db_sync.'))


def _newer(found: str, missing: Sequence[str]) -> DoctorFinding:
    """Return the finding about the schema of a newer release, as there is during an upgrade: it is right as long as it
    has all that this release uses."""
    if missing:
        return DoctorFinding(_('The tables have all columns that this release uses (version %s).') % sync.HEAD,
                             _('They have version %(found)s, of a newer release, and lack %(columns)s.') % {
                           'found': found, 'columns': first_few(missing, 5)},
                             _('Install the release of the other hosts: this one is too old for the database.'))
    return DoctorFinding(_('The tables have version %s.') % sync.HEAD,
                         _('They have version %s, of a newer release: this release works with it while hosts are '
                           'upgraded.') % found,
                         _('Complete the upgrade on this host, as docs/operators/upgrade.rst says.'), WARNING)


def missing_columns(database: Database) -> list[str]:
    """Columns of this release, TABLE.COLUMN, that the database does not have."""
    with database.reader() as tx:
        inspected = sa.inspect(tx)
        there = {name: {column['name'] for column in inspected.get_columns(name)}
                 for name in inspected.get_table_names() if name in tables.metadata.tables}
    return [f'{name}.{column.name}' for name, table in tables.metadata.tables.items() for column in table.c
            if column.name not in there.get(name, ())]


def storage(site: Site) -> Iterator[DoctorFinding]:
    """How the tables store texts, and whether they take part in transactions."""
    if site.database.dialect == 'postgresql':
        with site.database.reader() as tx:
            encoding = str(tx.exec_driver_sql('SHOW server_encoding').scalar_one())
        if encoding != 'UTF8':
            yield DoctorFinding(_('The encoding of the database is UTF8.'), _('It is %s.') % encoding,
                                _("Create the database again, with ENCODING 'UTF8', and run heatlite-manage db_sync."))
        return
    charset = site.database.url.query.get('charset')
    if charset != 'utf8mb4':
        yield DoctorFinding(_('Connections use the character set utf8mb4.'), _('[database] connection has charset=%s.')
                            % charset, _('Remove charset from [database] connection.'))
    with site.database.reader() as tx:
        rows = list(tx.exec_driver_sql('SELECT table_name, table_collation, engine FROM information_schema.tables '
                                       'WHERE table_schema = DATABASE()'))
    ours = [(name, collation, engine) for name, collation, engine in rows if name in tables.metadata.tables]
    differing = sorted(f'{name} ({collation})' for name, collation, _engine in ours if collation != 'utf8mb4_bin')
    if differing:
        yield DoctorFinding(_('All tables have the collation utf8mb4_bin.'),
                            _('Others have: %s.') % ', '.join(differing),
                            _('ALTER TABLE %s CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin')
                            % differing[0].split(' ')[0])
    others = sorted(f'{name} ({engine})' for name, _collation, engine in ours if engine != 'InnoDB')
    if others:
        yield DoctorFinding(_('All tables are stored by InnoDB, which has transactions.'),
                            _('Others are: %s.') % ', '.join(others),
                            f'ALTER TABLE {others[0].split(" ")[0]} ENGINE=InnoDB')


def key_fits(site: Site) -> Iterator[DoctorFinding]:
    yield from key_of(site.database, site)


def key_of(database: Database, site: Site) -> Iterator[DoctorFinding]:
    key_manager.load(site.conf, site.timeout)              # if the check of it is left out
    try:
        sealing.check_keys(database, crypt.keyring(site.conf))
    except exception.InvalidEncryptionKey:
        yield DoctorFinding(_('A key of the configuration decrypts the stored secrets.'),
                            _('They are encrypted with another key than [DEFAULT] auth_encryption_key.'),
                            _('Copy auth_encryption_key of the other hosts; if it was changed, add the former one as '
                              'auth_decryption_keys and run heatlite-manage encryption_keys reencrypt.'))


# --- settings ---------------------------------------------------------------------------------------------

VARIABLES = {
    'mysql': ('SHOW GLOBAL VARIABLES', 'SHOW GLOBAL STATUS'),
    'postgresql': ('SELECT name, setting FROM pg_settings',),
}


def variables(database: Database) -> dict[str, str]:
    """Return the settings of the server by name, in lower case."""
    with database.reader() as tx:
        return {str(name).lower(): str(value) for statement in VARIABLES[database.dialect]
                for name, value in tx.exec_driver_sql(statement)}


def settings(site: Site) -> Iterator[DoctorFinding]:
    known = variables(site.database)
    judge = {'mysql': mysql_settings, 'postgresql': postgresql_settings}[site.database.dialect]
    yield from judge(known, largest_value(site), site.conf.database.mysql_wsrep_sync_wait)
    if site.database.dialect == 'postgresql':
        with site.database.reader() as tx:
            if tx.exec_driver_sql('SELECT pg_is_in_recovery()').scalar():
                yield _read_only()


def largest_value(site: Site) -> tuple[int, int]:
    """Bytes of (a document of a user, what functions may make of it), encrypted."""
    return (round(site.conf.max_json_body_size * SEALED_SIZE), round(site.conf.max_evaluation_result * SEALED_SIZE))


def _read_only() -> DoctorFinding:
    return DoctorFinding(_('The server accepts writes.'), _('It is read-only, as a replica is.'), WRITABLE)


def mysql_settings(known: Mapping[str, str], largest: tuple[int, int],
                   sync_wait: int | None) -> Iterator[DoctorFinding]:
    """`known`: variables and status of the server, in lower case. `largest`: see `largest_value`."""
    is_node = known.get('wsrep_on', '').upper() == 'ON'
    if any(known.get(name, '').upper() in ('ON', '1') for name in ('read_only', 'super_read_only', 'innodb_read_only')):
        yield _read_only()
    if known.get('log_bin', '').upper() == 'ON' and known.get('binlog_format', '').upper() == 'STATEMENT':
        yield DoctorFinding(_('The binary log takes transactions at READ COMMITTED.'), _('binlog_format is STATEMENT.'),
                            _('Set binlog_format = ROW (or MIXED) in the configuration of the server.'))
    packet = int(known.get('max_allowed_packet') or 2 ** 30)
    if packet < max(largest):
        yield DoctorFinding(_('max_allowed_packet of the server is at least %d bytes, the longest value that is '
                              'stored.') % max(largest),
                            _('It is %d.') % packet,
                            _('Raise max_allowed_packet of the server, or lower [DEFAULT] max_json_body_size and '
                              'max_evaluation_result.'), FAILED if packet < largest[0] else WARNING)
    if not is_node and known.get('innodb_flush_log_at_trx_commit', '1') != '1':
        yield DoctorFinding(_('A committed transaction survives a loss of power.'),
                            _('innodb_flush_log_at_trx_commit is %s.') % known['innodb_flush_log_at_trx_commit'],
                            _('Set innodb_flush_log_at_trx_commit = 1 in the configuration of the server.'), WARNING)
    if is_node and known.get('wsrep_ready', 'ON').upper() != 'ON':
        yield DoctorFinding(_('The Galera node accepts statements.'), _('wsrep_ready is %s.') % known['wsrep_ready'],
                            _('Repair the cluster: this node has no quorum, or is still joining.'))
    if is_node and sync_wait is not None and sync_wait & 3 != 3:
        yield DoctorFinding(_('Reads on a Galera node wait for what other nodes have accepted.'),
                            _('[database] mysql_wsrep_sync_wait is %d.') % sync_wait,
                            _('Remove [database] mysql_wsrep_sync_wait from the file: its default is right.'), WARNING)


def postgresql_settings(known: Mapping[str, str], _largest: tuple[int, int],
                        _sync_wait: int | None) -> Iterator[DoctorFinding]:
    if known.get('default_transaction_read_only') == 'on':
        yield _read_only()
    for name in ('fsync', 'synchronous_commit'):
        if known.get(name) == 'off':
            yield DoctorFinding(_('A committed transaction survives a loss of power.'), _('%s is off.') % name,
                                _('Set %s = on in postgresql.conf.') % name, WARNING)
    if known.get('synchronous_standby_names') and known.get('synchronous_commit') == 'local':
        yield DoctorFinding(_('A committed transaction survives a loss of the primary server.'),
                            _('synchronous_commit is local: commits do not wait for the synchronous stand-by.'),
                            _('Set synchronous_commit = on in postgresql.conf.'), WARNING)


def processes(site: Site) -> int:
    """Return how many processes of this host connect, if all programs run here."""
    conf = site.conf
    return int(max(conf.num_engine_workers, 1) + sum(max(conf[group].workers, 1) for group in APIS))


def connections(site: Site) -> Iterator[DoctorFinding]:
    yield from enough_connections(int(variables(site.database)['max_connections']), processes(site),
                                  site.conf.database.max_pool_size)


def enough_connections(most: int, running: int, pool: int) -> Iterator[DoctorFinding]:
    """`most`: max_connections of the server. `running`: processes with two pools of `pool` connections each."""
    if most <= 2 * pool * running:
        yield DoctorFinding(
            _('The server allows more than %d connections: two pools of %d for each of %d processes of this host.')
            % (2 * pool * running, pool, running), _('max_connections is %d.') % most,
            _('Raise max_connections of the server above the sum of all hosts, or lower [database] max_pool_size.'),
            WARNING)


CHECKS = (
    Check('database-host', _('the database server accepts connections'), reachable, unused=lambda site: (
        not_sqlite(site) or ('' if site.conf.database.connection else _('[database] connection is not set')))),
    Check('database-login', _('the user logs in to the database'), connected, ('database-host',)),
    Check('database-server', _('the version of the server is supported'), server, ('database-login',), not_sqlite),
    Check('database-rights', _('the user has all rights on the tables, by its grants'), rights, ('database-login',),
          not_sqlite),
    Check('database-settings', _('the server writes durably, long values, in order'), settings, ('database-login',),
          not_sqlite),
    Check('database-connections', _('the server allows enough connections'), connections, ('database-login',),
          not_sqlite),
    Check('database-clock', _('the clock of the server is that of this host'), clock, ('database-login',), not_sqlite),
    Check('database-schema', _('the tables are those of this release'), schema, ('database-login',)),
    Check('database-storage', _('the tables store all texts, in transactions'), storage, ('database-schema',),
          not_sqlite),
    Check('database-key', _('the key decrypts the stored secrets'), key_fits, ('database-schema', 'encryption-key')),
)
