"""Options: registered when this module is imported, read from files when a program calls `load`.

Plug-ins rely on the registration: `cfg.CONF.import_opt(name, 'heat.common.config')`. The file format and the names are
those of heat.conf, so such a file works unchanged (`--config-file`).
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from heatlite.common import options, release, settings
from heatlite.common.command_line import HelpAll
from heatlite.common.invalid_options import InvalidOptions
from heatlite.common.release import PROJECT

LOG = logging.getLogger(__name__)

LOG_LEVELS = ['amqp=WARN', 'amqplib=WARN', 'oslo.messaging=WARN', 'oslo_messaging=WARN', 'oslo_db=WARN',
              'oslo_policy=WARN', 'sqlalchemy=WARN', 'alembic=WARN', 'kombu=WARN', 'urllib3=WARN', 'requests=WARN',
              'keystonemiddleware=WARN', 'keystoneauth=WARN', 'routes.middleware=WARN', 'stevedore=WARN',
              'iso8601=WARN', 'eventlet.wsgi.server=WARN', 'dogpile.core.dogpile=INFO']
_LINE = '%%(asctime)s.%%(msecs)03d %%(process)d %%(levelname)s %%(name)s [%s] %%(instance)s%%(message)s'
LOG_LINE = _LINE % '%(request_id)s %(global_request_id)s %(user_id)s %(project_id)s'
LOG_LINE_OF_THE_SERVICE = _LINE % '- - - -'         # lines that belong to no request


def register(conf: cfg.ConfigOpts) -> None:
    """Register all options of the service; registering twice is harmless."""
    for group, opts in options.GROUPS.items():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)


def set_defaults() -> None:
    """Set our defaults of libraries' options in the libraries: for oslo-config-generator (entry point
    `oslo.config.opts.defaults`)."""
    from heatlite.common import messaging  # for the generator of samples only
    _set_database_defaults()
    messaging.set_defaults()


def _set_database_defaults() -> None:
    from oslo_db import options as database
    cfg.set_defaults(database.database_opts, max_pool_size=options.MAX_POOL_SIZE)


def register_cells(conf: cfg.ConfigOpts) -> None:
    """Register the options of the cells that [cells] names, after these were read; again is harmless."""
    for name in conf.cells.names:
        conf.register_opts(options.ONE_CELL, group=options.cell_group(name))


def register_clouds(conf: cfg.ConfigOpts) -> list[str]:
    """Register the options of the clouds that [ec2authtoken] names, after these were read, and return their groups;
    again is harmless."""
    groups = [options.cloud_group(name) for name in conf.ec2authtoken.clouds]
    for group in groups:
        conf.register_opts(options.EC2_KEYSTONE, group=group)
    return groups


def register_database(conf: cfg.ConfigOpts) -> None:
    """Register the options of the group [database], which oslo.db declares; registering twice is harmless."""
    from oslo_db import options as database
    _set_database_defaults()
    conf.register_opts(database.database_opts, group='database')


WRONG_COMMAND_LINE = 2          # with which argparse ends


def load(arguments: Sequence[str], program: str, conf: cfg.ConfigOpts | None = None,
         default_files: Sequence[str] | None = None, command_line: Sequence[cfg.Opt] = (),
         warn: bool = True, description: str = '',
         reports: Callable[[cfg.ConfigOpts], bool] = lambda _conf: False, is_service: bool = True) -> cfg.ConfigOpts:
    """Read the command line and the files, set up logging, return the options.

    Files: `--config-file`, else `default_files`, else heatlite.conf and PROGRAM.conf in ~/.heatlite, ~, /etc/heatlite
    and /etc. After them, so that their values apply, those of the folders heatlite.conf.d and PROGRAM.conf.d in the
    same places, unless `default_files` is empty. `--config-dir` replaces these folders, and is read at its place among
    those of `--config-file`. `--set GROUP.NAME=VALUE` overrides all of them.
    `command_line`: additional options of one program. `warn`: log a warning for each unknown name, and for each option
    that is set and has no effect.
    `description`: of the program, for `--help`. `reports(conf)`: whether the program itself reports all values that
    are wrong (`problems`), rather than end at the first one; if there are any, no log is set up.
    `is_service`: else the log is standard error, unless the command line names a file: a command of root would make a
    file of root where the files name a folder.
    Raises InvalidOptions when a value or a file is wrong, or the log cannot be written.
    """
    from oslo_log import log

    from heatlite.common import logs  # loads oslo.log, as above
    os.umask(0o077)                         # logs and databases may hold secrets: only our user may read them
    conf = cfg.CONF if conf is None else conf
    reads_files = default_files is None or bool(default_files)      # that the command line does not name
    register(conf)
    if 'set' not in conf:                   # first call only: no option can join the command line once it was parsed
        log.register_options(conf)
        log.set_defaults(default_log_levels=LOG_LEVELS, logging_context_format_string=LOG_LINE)
        conf.set_default('logging_default_format_string', LOG_LINE_OF_THE_SERVICE)
        has_commands = any(isinstance(option, cfg.SubCommandOpt) for option in command_line)
        conf.register_cli_opts([*options.COMMAND_LINE, *command_line, HelpAll(description, has_commands, reads_files)])
    said = io.StringIO()                    # by argparse and oslo.config, which end the process
    try:
        with contextlib.redirect_stderr(said):
            conf(_with_folders(arguments, program) if reads_files else list(arguments), project=PROJECT, prog=program,
                 version=release.text(), default_config_files=None if default_files is None else list(default_files),
                 default_config_dirs=None if reads_files else [])
    except SystemExit as error:
        wrong = settings.wrong_argument(conf, said.getvalue()) if error.code else ''
        if wrong:
            raise InvalidOptions(wrong) from None
        sys.stderr.write(said.getvalue())
        if error.code != WRONG_COMMAND_LINE:
            raise
        raise InvalidOptions(error.code) from None
    except cfg.ConfigDirNotFoundError as error:
        raise InvalidOptions(f'--config-dir {error.config_dir}: there is no such folder') from None
    except IsADirectoryError as error:
        raise InvalidOptions(f'--config-file {error.filename}: this is a folder; --config-dir takes one') from None
    except (cfg.Error, OSError, UnicodeDecodeError) as error:
        raise InvalidOptions(_in_a_line(conf, error)) from None
    settings.assignments(conf).values.clear()
    register_cells(conf)
    register_clouds(conf)
    for assignment in conf.set:
        override(conf, assignment)
        register_cells(conf)            # of names that were just assigned
        register_clouds(conf)
    if not is_service and not reports(conf):
        _ignore_log_files(conf)
    for problem in problems(conf):
        if reports(conf):
            return conf
        raise InvalidOptions(problem)
    if not is_service:
        _ignore_log_files(conf)
    if not (conf.log_file or conf.log_dir or conf.use_journal):
        conf.set_default('use_stderr', True)    # by default the library writes to standard output, which is for results
    try:
        log.setup(conf, PROJECT)
    except OSError as error:
        raise InvalidOptions(f'{_log_options(conf)}: {error.filename} cannot be written: {error.strerror}') from None
    logs.install(conf, PROJECT)
    if warn:
        for problem in (*settings.unknown_names(conf), *settings.without_effect(conf)):
            LOG.warning('%s', problem)
    return conf


def _ignore_log_files(conf: cfg.ConfigOpts) -> None:
    """Make the options log_dir and log_file of files and of the environment have no effect."""
    for name in ('log_dir', 'log_file'):
        found = conf.get_location(name)
        if found is not None and found.location is not cfg.Locations.command_line:
            conf.set_override(name, None)


def _with_folders(arguments: Sequence[str], program: str) -> list[str]:
    """Return the command line, with the default folders after its last `--config-file`.

    oslo.config reads folders that are not named before the files that are: the same folder would be weaker than
    /etc/heatlite/heatlite.conf where the command line names this file, and stronger where it does not.
    """
    named = {option for option, _path in settings.named_sources(arguments)}
    if settings.FILE not in named or settings.FOLDER in named:
        return list(arguments)
    last = max(number for number, word in enumerate(arguments) if word.partition('=')[0] == settings.FILE)
    after = last + (1 if '=' in arguments[last] else 2)
    folders = [word for folder in cfg.find_config_dirs(PROJECT, program) for word in (settings.FOLDER, folder)]
    return [*arguments[:after], *folders, *arguments[after:]]


def reload(conf: cfg.ConfigOpts) -> None:
    """Read the files again. New values of the options that are marked as changeable apply.

    Raises InvalidOptions where a file cannot be read or a value is wrong: all options stay as they were then.
    """
    applied, loggers, said = conf._mutable_ns, _loggers(), io.StringIO()
    try:
        with contextlib.redirect_stderr(said):      # there oslo.config says why it would end the process
            found = _read_again(conf)
        for problem in problems(found):
            raise InvalidOptions(problem)
        conf.mutate_config_files()
    except (Exception, SystemExit) as error:        # hooks of libraries raise errors of any kind
        conf._mutable_ns = applied
        _forget_values(conf)
        for logger, level, handlers, propagates in loggers:
            logger.setLevel(level)
            logger.handlers, logger.propagate = handlers, propagates
        if isinstance(error, InvalidOptions):
            raise
        raise InvalidOptions(' '.join(said.getvalue().split()) or _in_a_line(conf, error)) from None


def _loggers() -> list[tuple[logging.Logger, int, list[logging.Handler], bool]]:
    """Return all loggers with their level and handlers, and whether they propagate: oslo.log resets them before it
    reads the file of `log_config_append`."""
    every = [logging.getLogger(), *(each for each in logging.root.manager.loggerDict.values()
                                    if isinstance(each, logging.Logger))]
    return [(each, each.level, list(each.handlers), each.propagate) for each in every]


def _read_again(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """Return the same options with the values that the files have now: `conf` does not change. Raises what the library
    raises."""
    found = copy.copy(conf)
    found._namespace = found._mutable_ns = conf._reload_config_files()
    vars(found)['_ConfigOpts__cache'] = {}          # of values
    return found


def _in_a_line(conf: cfg.ConfigOpts, error: BaseException) -> str:
    """Return the text of an error of reading the files, with file and line where that of the library has none."""
    if isinstance(error, UnicodeDecodeError):
        for file in settings.files(conf):
            with contextlib.suppress(OSError):
                content = Path(file).read_bytes()
                try:
                    content.decode()
                except UnicodeDecodeError as found:
                    return f'{file}:{content.count(10, 0, found.start) + 1}: not a text in UTF-8'
    return ' '.join(str(error).split()) or type(error).__name__


def _forget_values(conf: cfg.ConfigOpts) -> None:
    """Clear the library's cache of all values."""
    conf.clear_override('max_json_body_size')   # of any name


def problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a line for each reason for which a program does not start: values that are invalid, a log that it cannot
    write."""
    folder = conf.log_dir or (os.path.dirname(conf.log_file) if conf.log_file else None)
    file = os.path.join(conf.log_dir or '', conf.log_file) if conf.log_file else None
    if folder and not os.path.isdir(folder):
        yield f'{_log_options(conf)}: there is no folder {folder}'
    elif (file and os.path.exists(file) and not os.access(file, os.W_OK)) or (
            folder and not os.access(folder, os.W_OK)):
        yield f'{_log_options(conf)}: {file or folder} cannot be written'
    if conf.log_config_append and not os.access(conf.log_config_append, os.R_OK):
        yield (f'{settings.place(conf, settings.DEFAULT, "log_config_append")}[DEFAULT] log_config_append: '
               f'{conf.log_config_append} cannot be read')
    yield from settings.wrong_values(conf)


def _log_options(conf: cfg.ConfigOpts) -> str:
    name = 'log_dir' if conf.log_dir else 'log_file'
    return f'{settings.place(conf, settings.DEFAULT, name)}[DEFAULT] log_dir, log_file'


def override(conf: cfg.ConfigOpts, assignment: str) -> None:
    """Apply `[GROUP.]NAME=VALUE`, also to an option that a library registers later. Raises InvalidOptions
    when there is no such option or it takes no such value."""
    name, equals, value = assignment.partition('=')
    group, dot, option = name.strip().rpartition('.')
    group, option = group if dot else settings.DEFAULT, option.replace('-', '_')
    if not equals:
        raise InvalidOptions(f'--set {assignment}: wanted [GROUP.]NAME=VALUE')
    problem = settings.unknown(settings.known_names(conf), group, option) or (
        '' if group in settings.known_names(conf) else f'there is no group [{group}]')
    if problem:
        raise InvalidOptions(f'--set {assignment}: {problem}')
    opt = settings.registered(conf).get((group, option))
    if opt is not None:
        try:
            opt.type(value.strip())
        except ValueError as error:
            shown = f'{name}=***' if opt.secret else assignment
            raise InvalidOptions(
                f'--set {shown}: {settings.reason(error)} (allowed: {settings.allowed(opt)})') from None
    settings.assignments(conf).values.setdefault((group, option), []).append(value.strip())
    _forget_values(conf)


def get_client_option(client: str, option: str) -> Any:
    """Return `option` of [clients_<client>], or of [clients] where that is unset or there is no such client."""
    group = f'clients_{client}'
    if group in cfg.CONF and option in cfg.CONF[group] and cfg.CONF[group][option] is not None:
        return cfg.CONF[group][option]
    return cfg.CONF.clients[option]


def verification(insecure: bool, authorities: str | None) -> bool | str:
    """Return how the certificate of a server is verified, as sessions take it: by a file with authorities, by those of
    the system (True), or not at all (False), even with such a file."""
    return not insecure and (authorities or True)


def get_ssl_options(client: str) -> dict[str, Any]:
    """Return `verify` and `cert` as keystoneauth sessions take them."""
    verify = verification(get_client_option(client, 'insecure'), get_client_option(client, 'ca_file'))
    certificate, key = get_client_option(client, 'cert_file'), get_client_option(client, 'key_file')
    return {'verify': verify, 'cert': (certificate, key) if certificate and key else certificate}


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """List all options for oslo-config-generator (entry point `oslo.config.opts`)."""
    return list(options.GROUPS.items())


register(cfg.CONF)
