"""heatlite-manage: commands for the database, for operators, and for plug-ins, for operators and authors.

Exit code 0, 1 with one line on stderr, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from oslo_config import cfg

from heatlite.cmd import cells, check_config, completion, encryption_keys, import_heat, parts, plugins, restore
from heatlite.cmd.doctor import doctor_command
from heatlite.cmd.setup import setup_command
from heatlite.common import config, crypt, exception, runtime
from heatlite.common.command_line import name_commands
from heatlite.common.i18n import _
from heatlite.common.standard_output import ends_with_its_reader
from heatlite.db import engines, resource_data, resource_lists, retention, sealing, sync, upkeep
from heatlite.db import load as loads
from heatlite.db.connection import Database
from heatlite.engine.alarms.settings import AlarmSettings

PROGRAM = 'heatlite-manage'
UNITS = ('days', 'hours', 'minutes', 'seconds')
OLDEST = datetime(1970, 1, 1)
# Commands of heat-manage that scripts call at an upgrade -> why there is nothing to do.
WITHOUT_WORK: Mapping[str, str] = {
    'migrate_properties_data': _('Nothing to do: properties have one form here.'),
    'migrate_convergence_1': _('Nothing to do: all stacks use convergence here.'),
}


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        conf = load(arguments)
        if conf.command.name in plugins.COMMANDS:
            return plugins.COMMANDS[conf.command.name](conf, _print_table)
        if conf.command.name == check_config.COMMAND:
            return check_config.run(conf)
        if conf.command.name == doctor_command.COMMAND:
            return doctor_command.run(conf, _print_table)
        if conf.command.name == setup_command.COMMAND:
            return setup_command.run(conf)
        if conf.command.name == completion.COMMAND:
            return completion.run(conf)
        if conf.command.name == encryption_keys.COMMAND:
            return encryption_keys.run(conf, parts.database(conf), _print_table)
        if conf.command.name == import_heat.COMMAND:
            return import_heat.run(conf, parts.database(conf), _print_table)
        if conf.command.name == cells.COMMAND:
            return cells.run(conf, parts.database(conf), _print_table)
        if conf.command.name in restore.COMMANDS:
            return restore.run(conf, parts.database(conf), _print_table)
        if conf.command.name in WITHOUT_WORK:
            print(WITHOUT_WORK[conf.command.name])
            return 0
        COMMANDS[conf.command.name](conf, parts.database(conf))
    except exception.HeatException as error:
        return _failed(str(error))
    except SystemExit as leaving:               # wrong usage, or --help
        if isinstance(leaving.code, str):
            return _failed(leaving.code, doctor_command.NOT_STARTED if doctor_command.COMMAND in arguments else 1)
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        return 130
    return 0


def load(arguments: Sequence[str]) -> cfg.ConfigOpts:
    """Load options. Raises SystemExit."""
    from oslo_db import options as oslo_options
    conf = cfg.ConfigOpts()
    conf.register_cli_opts([option for option in oslo_options.database_opts if option.name == 'connection'],
                           group='database')
    return config.load(arguments, PROGRAM, conf, command_line=[cfg.SubCommandOpt(
        'command', title=_('Commands'), handler=_add_commands)], description=_(
            'Commands for operators, and for authors of plug-ins; COMMAND --help has the options of each.'),
        reports=lambda conf: conf.command.name == check_config.COMMAND, is_service=False)


def _add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser('db_sync', help=_('Make the tables, or bring them up to date; of all cells.'))
    commands.add_parser(check_config.COMMAND, help=_('Check the configuration; starts nothing.'))
    doctor_command.add_command(commands)
    setup_command.add_command(commands)
    commands.add_parser('db_version', help=_('Print the version of the tables.'))
    service = commands.add_parser('service', help=_('List the engines, or remove those that have ended.'))
    service.add_argument('service_command', choices=('list', 'clean'),
                         help=_('list: all that were not stopped. clean: remove those without a sign of life.'))
    purge = commands.add_parser('purge_deleted', help=_('Remove stacks that were deleted long ago.'))
    purge.add_argument('-g', '--granularity', choices=UNITS, default='days', help=_('Unit of AGE. Default: days.'))
    purge.add_argument('-p', '--project_id', '--project-id', metavar='PROJECT', help=_('Only stacks of this project.'))
    purge.add_argument('-b', '--batch_size', '--batch-size', type=_natural, default=20, metavar='N',
                       help=_('Stacks in one transaction. Default: 20.'))
    purge.add_argument('age', nargs='?', type=_natural, default=90, metavar='AGE', help=_(
        'Remove stacks that were deleted longer ago than this. Default: 90.'))
    reset = commands.add_parser('reset_stack_status', help=_('Set what is IN_PROGRESS in a stack to FAILED.'))
    reset.add_argument('-y', '--yes', action='store_true', help=_('Do not ask.'))
    reset.add_argument('stack_id', help=_('The id of the stack, not its name.'))
    data = commands.add_parser('resource_data_list', help=_('Print the stored data of a resource.'))
    data.add_argument('resource_id', help=_('Physical id of the resource, or its id in the database.'))
    secrets = commands.add_parser('update_params', help=_(
        'Encrypt or decrypt stored parameters and properties; change the key.'))
    secrets.add_argument('operation', choices=('encrypt', 'decrypt'), help=_(
        'encrypt: as encrypt_parameters_and_properties does with what is new. decrypt: as without it.'))
    secrets.add_argument('previous_encryption_key', nargs='?', help=_(
        'The key before, if auth_encryption_key is a new one.'))
    secrets.add_argument('--verbose-update-params', action='store_true', help=_('Without effect, for scripts of Heat.'))
    for name in WITHOUT_WORK:
        nothing = commands.add_parser(name, description=_('Does nothing: for scripts of Heat.'))    # not in the list
        nothing.add_argument('ignored', nargs='*', help=_('Without effect.'))
    encryption_keys.add_command(commands)
    restore.add_commands(commands)
    import_heat.add_command(commands)
    cells.add_command(commands)
    plugins.add_commands(commands)
    completion.add_command(commands)
    name_commands(commands)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(_("'%s' is no number from 0") % text)
    return int(text)


# --- commands ----------------------------------------------------------------------------------------------

def db_sync(conf: cfg.ConfigOpts, database: Database) -> None:
    for name, version in cells.sync_all(conf, database).items():
        print(_('Cell %(name)s: the tables have version %(version)s.') % {'name': name, 'version': version}
              if conf.cells.names else _('The tables have version %s.') % version)


def db_version(conf: cfg.ConfigOpts, database: Database) -> None:
    print(sync.version(database) or _('none: run db_sync'))


def service(conf: cfg.ConfigOpts, database: Database) -> None:
    sync.check(database)
    if conf.command.service_command == 'list':
        with database.reader() as tx:
            found, driven = engines.page(tx), loads.driven(tx)
        _print_table(('Hostname', 'Binary', 'Engine Id', 'Host', 'Topic', 'Status', 'Updated At', 'Stacks'), [
            (each.hostname, each.binary, each.id, each.host, each.topic, 'up' if each.is_up else 'down',
             each.updated_at or each.created_at, driven.get(each.id, 0)) for each in found])
        return
    with database.reader() as tx:
        silent = engines.silent(tx)
    if silent:
        print(_('Silent engines: %(count)d. Waiting %(seconds)g s for those that live.') % {
            'count': len(silent), 'seconds': conf.engine.lease_ttl}, file=sys.stderr)
        runtime.current().sleep(conf.engine.lease_ttl)
    removed = database.retry(lambda tx: engines.clean(tx, runtime.current().now(), silent))
    for engine_id in removed:
        print(engine_id)
    print(_('Engines removed: %d') % len(removed))


def purge_deleted(conf: cfg.ConfigOpts, database: Database) -> None:
    sync.check(database)
    command = conf.command
    try:
        before = runtime.current().now() - timedelta(**{command.granularity: command.age})
    except OverflowError:
        before = OLDEST
    total = 0
    while done := database.retry(lambda tx: upkeep.purge(
            tx, before, command.project_id, max(command.batch_size, 1))):
        total += done
    print(_('Stacks purged: %d') % total)
    if command.project_id is None and (removed := _purge_alarms(conf, database)):
        print(_('Rows of metrics and alarms removed: %d') % removed)


def _purge_alarms(conf: cfg.ConfigOpts, database: Database) -> int:
    """Remove what is older than the options of [alarms] say; engines do so, too."""
    settings = AlarmSettings.of(conf)
    now = (runtime.current().now() - OLDEST).total_seconds()
    total = 0
    for work in retention.steps(now, settings.kept, settings.history):
        while done := database.retry(work):
            total += done
    return total


def reset_stack_status(conf: cfg.ConfigOpts, database: Database) -> None:
    sync.check(database)
    stack_id = conf.command.stack_id
    with database.reader() as tx:
        top = upkeep.resettable(tx, stack_id)
    if not conf.command.yes:
        print(_('Running actions of stack %s, and of stacks nested in it, are stopped and marked as FAILED. '
                'Continue? [y/N] ') % f'{top.name} ({stack_id})', end='', flush=True)
        if sys.stdin.readline().strip().lower() not in ('y', 'yes'):
            raise SystemExit(_('Nothing was changed.'))
    for changed in database.retry(lambda tx: upkeep.reset(tx, stack_id, runtime.current().now())):
        print(changed)


def resource_data_list(conf: cfg.ConfigOpts, database: Database) -> None:
    sync.check(database)
    with database.reader() as tx:
        found = resource_lists.find(tx, conf.command.resource_id)
        data = resource_data.data(tx, found.stack_id, found.id)
    keys = crypt.keyring(conf)
    _print_table(('Key', 'Value'), [(each.key, each.clear(keys)) for each in data])


def update_params(conf: cfg.ConfigOpts, database: Database) -> None:
    sync.check(database)
    command = conf.command
    crypt.check_keys(conf)
    previous = command.previous_encryption_key
    rewriting = sealing.Rewriting(command.operation == 'encrypt', crypt.keyring(conf, *[previous] if previous else []))
    print(_('Rows rewritten: %d') % rewriting.run(database))


COMMANDS: Mapping[str, Callable[[cfg.ConfigOpts, Database], None]] = {
    command.__name__: command
    for command in (db_sync, db_version, service, purge_deleted, reset_stack_status, resource_data_list,
                    update_params)}


# --- output ------------------------------------------------------------------------------------------------

def _print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    lines = [tuple(head), *(tuple('' if value is None else str(value) for value in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print('  '.join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip())


def _failed(text: str, code: int = 1) -> int:
    print(f'{PROGRAM}: {text}', file=sys.stderr)
    return code


if __name__ == '__main__':
    sys.exit(main())
