"""Options: registered when this module is imported, read from files when a door calls `load`.

Plug-ins rely on the first: `cfg.CONF.import_opt(name, 'heat.common.config')`. The file format and the names
are the ones operators have in heat.conf, so such a file works as it is (`--config-file`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from heatlite.common import options

PROJECT = 'heatlite'
LOG_LEVELS = ['amqp=WARN', 'amqplib=WARN', 'oslo.messaging=WARN', 'oslo_messaging=WARN', 'oslo_db=WARN',
              'oslo_policy=WARN', 'sqlalchemy=WARN', 'alembic=WARN', 'kombu=WARN', 'urllib3=WARN', 'requests=WARN',
              'keystonemiddleware=WARN', 'keystoneauth=WARN', 'routes.middleware=WARN', 'stevedore=WARN',
              'iso8601=WARN', 'eventlet.wsgi.server=WARN', 'dogpile.core.dogpile=INFO']
_LINE = '%%(asctime)s.%%(msecs)03d %%(process)d %%(levelname)s %%(name)s [%s] %%(instance)s%%(message)s'
LOG_LINE = _LINE % '%(request_id)s %(global_request_id)s %(user_id)s %(project_id)s'
LOG_LINE_OF_THE_SERVICE = _LINE % '- - - -'         # lines that belong to no request


def version() -> str:
    """As installed; without an installation there is none to tell."""
    from importlib import metadata
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        return 'unreleased'


def register(conf: cfg.ConfigOpts) -> None:
    """All options of the service; registering twice is harmless."""
    for group, opts in options.GROUPS.items():
        conf.register_opts(opts, group=None if group == 'DEFAULT' else group)


def load(arguments: Sequence[str], program: str, conf: cfg.ConfigOpts | None = None,
         default_files: Sequence[str] | None = None, command_line: Sequence[cfg.Opt] = ()) -> cfg.ConfigOpts:
    """Reads the command line and the files, sets up logging, returns the options.

    Files: `--config-file`, else heatlite.conf in ~/.heatlite, ~, /etc/heatlite and /etc. `--set GROUP.NAME=VALUE`
    is stronger than both. `command_line`: further options of one door. Exits with a message of one line when an
    option or a file is wrong.
    """
    from oslo_log import log

    from heatlite.common import logs
    os.umask(0o077)                         # logs and databases may hold secrets: they are for our user alone
    conf = cfg.CONF if conf is None else conf
    register(conf)
    if 'set' not in conf:                   # the first time: no option can join the command line once it was read
        log.register_options(conf)
        log.set_defaults(default_log_levels=LOG_LEVELS, logging_context_format_string=LOG_LINE)
        conf.set_default('logging_default_format_string', LOG_LINE_OF_THE_SERVICE)
        conf.register_cli_opts([*options.COMMAND_LINE, *command_line])
    try:
        conf(list(arguments), project=PROJECT, prog=program, version=f'{PROJECT} {version()}',
             default_config_files=None if default_files is None else list(default_files))
    except cfg.Error as error:
        raise SystemExit(str(error)) from None
    for assignment in conf.set:
        override(conf, assignment)
    if not (conf.log_file or conf.log_dir or conf.use_journal):
        conf.set_default('use_stderr', True)    # the library's last resort is standard output, which is for answers
    log.setup(conf, PROJECT)
    logs.install(conf, PROJECT)
    return conf


def override(conf: cfg.ConfigOpts, assignment: str) -> None:
    """Applies `[GROUP.]NAME=VALUE`. Raises SystemExit with a message of one line when there is no such option."""
    name, equals, value = assignment.partition('=')
    group, dot, option = name.strip().rpartition('.')
    if not equals:
        raise SystemExit(f'--set {assignment}: wanted [GROUP.]NAME=VALUE')
    try:
        conf.set_override(option, value.strip(), group=group if dot else None)
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError, ValueError) as error:
        raise SystemExit(f'--set {assignment}: {error}') from None


def get_client_option(client: str, option: str) -> Any:
    """`option` of [clients_<client>], or of [clients] where that is unset or there is no such client."""
    group = f'clients_{client}'
    if group in cfg.CONF and option in cfg.CONF[group] and cfg.CONF[group][option] is not None:
        return cfg.CONF[group][option]
    return cfg.CONF.clients[option]


def get_ssl_options(client: str) -> dict[str, Any]:
    """`verify` and `cert` as keystoneauth sessions take them."""
    if get_client_option(client, 'insecure'):
        verify: bool | str = False
    else:
        verify = get_client_option(client, 'ca_file') or True
    certificate, key = get_client_option(client, 'cert_file'), get_client_option(client, 'key_file')
    return {'verify': verify, 'cert': (certificate, key) if certificate and key else certificate}


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """For oslo-config-generator (entry point `oslo.config.opts`)."""
    return list(options.GROUPS.items())


register(cfg.CONF)
