"""heatlite-manage check-config: validates the configuration, without starting or connecting to anything."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.cmd.plugins import silence
from heatlite.common import exception, key_manager, options, settings
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

ERROR, WARNING = 'error', 'warning'
LOGINS = ('keystone_authtoken', 'trustee', 'ec2authtoken')         # groups with options for the login at Keystone
LIBRARIES = ('oslo.log', 'oslo.messaging', 'oslo.db', 'oslo.policy', 'oslo.middleware', 'oslo.cache',
             'oslo.concurrency', 'keystonemiddleware.auth_token', 'castellan.config')
KEY_LENGTH = 32
_PLUGIN_DIRS = next(opt.default for opt in options.PLUGINS if opt.dest == 'plugin_dirs')


def run(conf: ConfigOpts) -> int:
    """Prints a line for each finding; exit code 1 when there is an error."""
    with silence():                         # libraries log that logins of extras are not installed
        found = list(findings(conf))
    for level, text in found:
        print(f'{level}: {text}')
    errors = sum(level == ERROR for level, _text in found)
    print(_('Files: %s') % (', '.join(settings.files(conf)) or _('none')))
    print(_('Errors: %(errors)d, warnings: %(warnings)d') % {'errors': errors, 'warnings': len(found) - errors})
    return 1 if errors else 0


def findings(conf: ConfigOpts) -> Iterator[tuple[str, str]]:
    """(level, text) of all findings that need no connection."""
    register_libraries(conf)
    for text in settings.wrong_values(conf):
        yield ERROR, text
    for text in settings.unknown_names(conf):
        yield WARNING, text
    yield from _needed(conf)
    yield from _places(conf)
    if conf.plan_policies.rules_file:
        from heatlite.engine.requests.policy_rules import PlanRules
        try:
            PlanRules.load(conf.plan_policies.rules_file)
        except exception.Error as error:
            yield ERROR, str(error)


def register_libraries(conf: ConfigOpts) -> None:
    """Registers the options of all libraries that the programs use, and of logins at Keystone."""
    from importlib import metadata

    from keystoneauth1 import loading
    for point in metadata.entry_points(group='oslo.config.opts'):
        if point.name in LIBRARIES:
            for group, opts in point.load()():
                conf.register_opts(opts, group=None if group in (None, 'DEFAULT') else group)
    for group in LOGINS:
        loading.register_auth_conf_options(conf, group)
        if conf[group].auth_type in _login_plugins():
            conf.register_opts(loading.get_auth_plugin_conf_options(conf[group].auth_type), group=group)


def _needed(conf: ConfigOpts) -> Iterator[tuple[str, str]]:
    if not conf.auth_encryption_key and not conf.auth_encryption_key_id:
        yield WARNING, _('[DEFAULT] auth_encryption_key is not set: engines do not start without it.')
    if key_manager.is_used(conf) and importlib.util.find_spec('castellan') is None:
        yield ERROR, _('[DEFAULT] %s is set, and the extra "key-manager" of heatlite is not installed.') % (
            key_manager.CURRENT if conf.auth_encryption_key_id else key_manager.OTHERS)
    for option, keys in (('auth_encryption_key', [conf.auth_encryption_key or '']),
                         ('auth_decryption_keys', conf.auth_decryption_keys)):
        for length in {len(key) for key in keys if key} - {KEY_LENGTH}:
            yield ERROR, _('[DEFAULT] %(option)s has %(found)d characters, wanted are %(wanted)d.') % {
                'option': option, 'found': length, 'wanted': KEY_LENGTH}
    if not conf.database.connection:
        yield WARNING, _('[database] connection is not set: only heatlite-all starts without it.')
    else:
        yield from _driver(conf.database.connection)
    yield from _logins(conf)
    if conf.traces.endpoint and importlib.util.find_spec('opentelemetry') is None:
        yield ERROR, _('[traces] endpoint is set, and the extra "traces" of heatlite is not installed.')
    if not conf.paste_deploy.flavor and not conf.keystone_authtoken.auth_type:
        yield WARNING, _('[keystone_authtoken] auth_type is not set: the APIs cannot check tokens.')


@functools.cache
def _login_plugins() -> frozenset[str]:
    """Names allowed for `auth_type`. Reads the entry points of all installed packages."""
    from keystoneauth1 import loading
    return frozenset(loading.get_available_plugin_names())


def _logins(conf: ConfigOpts) -> Iterator[tuple[str, str]]:
    for group in LOGINS:
        chosen = conf[group].auth_type
        if chosen and chosen not in _login_plugins():
            yield ERROR, _('[%(group)s] auth_type "%(chosen)s" is not known; %(known)s are.') % {
                'group': group, 'chosen': chosen, 'known': ', '.join(sorted(_login_plugins()))}


def _driver(url: str) -> Iterator[tuple[str, str]]:
    from sqlalchemy import exc

    from heatlite.common import exception
    from heatlite.db import connection
    try:
        connection._normal(url).get_dialect().import_dbapi()
    except exception.HeatException as error:
        yield ERROR, f'[database] connection: {error}'
    except (ImportError, exc.ArgumentError) as error:
        yield ERROR, f'[database] connection: {type(error).__name__}: {error}'


def _places(conf: ConfigOpts) -> Iterator[tuple[str, str]]:
    for folder in conf.plugin_dirs:
        if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
            yield ERROR, f'[DEFAULT] plugin_dirs: {folder} cannot be read'
        elif not os.path.isdir(folder) and list(conf.plugin_dirs) != _PLUGIN_DIRS:
            yield WARNING, f'[DEFAULT] plugin_dirs: there is no folder {folder}'
    for file in settings.files(conf):
        mode = Path(file).stat().st_mode
        if mode & 0o004 and any(place.value for place in settings.places([file]) if _is_secret(conf, place)):
            yield WARNING, f'{file} has passwords in it, and every user of this machine may read it'
    for group in ('heat_api', 'heat_api_cfn', 'heat_api_cloudwatch'):
        for name in ('cert_file', 'key_file'):
            path = conf[group][name]
            if path and not os.access(path, os.R_OK):
                yield ERROR, f'[{group}] {name}: {path} cannot be read'
    yield from _prices(conf.plans.prices)
    if conf.cloud_backend:
        module = conf.cloud_backend.rpartition('.')[0]
        if module and not module.startswith(('heat.', 'heatlite.')):
            try:
                importlib.import_module(module)
            except Exception as error:
                yield ERROR, f'[DEFAULT] cloud_backend: {conf.cloud_backend}: {type(error).__name__}: {error}'


def _prices(file: str) -> Iterator[tuple[str, str]]:
    from heatlite.common import exception
    from heatlite.engine.requests import price_file
    try:
        price_file.load(file)
    except exception.HeatException as error:
        yield ERROR, f'[plans] prices: {error}'


def _is_secret(conf: ConfigOpts, place: settings.OptionPlace) -> bool:
    opt = settings.registered(conf).get((place.group, place.name))
    return opt is not None and bool(opt.secret)
