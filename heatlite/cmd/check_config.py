"""heatlite-manage check-config: validates the configuration, without starting or connecting to anything."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.cmd.plugins import silence
from heatlite.common import config, exception, key_manager, options, policy_files, release, settings
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

COMMAND = 'check-config'
ERROR, WARNING = 'error', 'warning'
LOGINS = ('keystone_authtoken', 'trustee', 'ec2authtoken')         # groups with options for the login at Keystone
LIBRARIES = ('oslo.log', 'oslo.messaging', 'oslo.db', 'oslo.policy', 'oslo.middleware', 'oslo.cache',
             'oslo.concurrency', 'keystonemiddleware.auth_token', 'castellan.config')
KEY_LENGTH = 32
LOOPBACK = ('127.0.0.1', '::1', 'localhost')
NO_BROKER = ('', 'rabbit://')           # values of transport_url that name no host; the second one is its default
CORRECT = _('Correct the option that the message names; docs/operators/configuration.rst has all.')
READABLE = _('Correct the path, or let the user of the service read it (chmod, chown).')
EXTRAS = {'psycopg2': 'postgres'}       # module of a database driver -> the extra of heatlite that installs it
# [cache] backend -> the module that it imports.
CACHE_MODULES = {'dogpile.cache.memcached': 'memcache', 'oslo_cache.memcache_pool': 'memcache',
                 'dogpile.cache.pymemcache': 'pymemcache'}
# Keys of the right length in examples that were published with earlier builds.
PUBLISHED_KEYS = ('exactly thirty-two characters !!',)
MEMCACHED = 'memcached'
_PLUGIN_DIRS = next(opt.default for opt in options.PLUGINS if opt.dest == 'plugin_dirs')


@dataclass(frozen=True)
class ConfigFinding:
    """`text` names the option and, if one sets it, the file with the line. `fix` is a whole sentence."""

    level: str                              # ERROR or WARNING
    text: str
    fix: str = CORRECT


def run(conf: ConfigOpts) -> int:
    """Print each finding, with its fix if the text does not imply it; exit code 1 when there is an error."""
    with silence():                         # libraries log that logins of extras are not installed
        found = [*findings(conf), *rule_findings(conf)]
    for each in found:
        print(f'{each.level}: {each.text}')
        if each.fix != CORRECT:
            print(f'  {_("fix")}: {each.fix}')
    errors = sum(each.level == ERROR for each in found)
    print(_('Files: %s') % (', '.join(settings.files(conf)) or _('none')))
    if variables := settings.variables(conf):
        print(_('Variables: %s') % ', '.join(each.where for each in variables))
    print(_('Errors: %(errors)d, warnings: %(warnings)d') % {'errors': errors, 'warnings': len(found) - errors})
    return 1 if errors else 0


def findings(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    """All findings that need no connection."""
    register_libraries(conf)
    for text in config.problems(conf):
        yield ConfigFinding(ERROR, text)
    for text in (*settings.unknown_names(conf), *settings.without_effect(conf)):
        yield ConfigFinding(WARNING, text)
    yield from _needed(conf)
    yield from _open_ports(conf)
    yield from _places(conf)
    if conf.plan_policies.rules_file:
        from heatlite.engine.requests.policy_rules import PlanRules
        try:
            PlanRules.load(conf.plan_policies.rules_file)
        except exception.Error as error:
            yield ConfigFinding(ERROR, f'{_named(conf, "plan_policies", "rules_file")}: {error}')
    try:
        paths = policy_files.paths(conf)
    except exception.Error as error:
        yield ConfigFinding(ERROR, f'{_named(conf, "oslo_policy", "policy_dirs")}: {error}')
        return
    for path in paths:
        try:
            policy_files.read(path)
        except exception.Error as error:
            yield ConfigFinding(ERROR, f'{_named(conf, "oslo_policy", "policy_file")}: {error}')


def rule_findings(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    """Yield the findings in files of access rules that can be read; `findings` has the others."""
    with contextlib.suppress(exception.Error):
        for path in policy_files.paths(conf):
            yield from wrong_rules(path)


def wrong_rules(path: Path) -> Iterator[ConfigFinding]:
    """Rules of one file that refuse all requests, or that nothing asks: a name with a typing error restricts nothing.

    Other names are allowed where a rule refers to them. Raises Error if the file cannot be read.
    """
    from oslo_policy import _parser

    from heatlite.common import policy
    known = {rule.name for rule in policy.list_rules()}
    found = policy_files.parse(path, policy_files.read(path))
    for name, text in found.items():
        with silence():
            check = _parser.parse_rule(text)
        if str(check) == '!' and text != '!':
            yield ConfigFinding(ERROR, f'{path}: {name}: {text}',
                                _('Correct the rule: it refuses all requests, as it cannot be parsed.'))
    texts = ' '.join(map(str, found.values()))
    for name in found:
        if name not in known and f'rule:{name}' not in texts and not name.startswith('resource_types:'):
            yield ConfigFinding(WARNING, _('%(path)s: There is no rule "%(name)s"%(meant)s') % {
                'path': path, 'name': name, 'meant': settings.meant(name, known) or '.'},
                _('Correct the name: oslopolicy-sample-generator --namespace heatlite prints all.'))


def _named(conf: ConfigOpts, group: str, name: str) -> str:
    """'FILE:LINE: [GROUP] NAME', without the place of an option that nothing sets."""
    return f'{settings.place(conf, group, name)}[{group}] {name}'


def register_libraries(conf: ConfigOpts) -> None:
    """Register the options of all libraries that the programs use, and of logins at Keystone."""
    from keystoneauth1 import loading
    for point in metadata.entry_points(group='oslo.config.opts'):
        if point.name in LIBRARIES:
            for group, opts in point.load()():
                conf.register_opts(opts, group=None if group in (None, 'DEFAULT') else group)
    for group in _login_groups(conf):
        loading.register_auth_conf_options(conf, group)
        if conf[group].auth_type in _login_plugins():
            conf.register_opts(loading.get_auth_plugin_conf_options(conf[group].auth_type), group=group)


def _login_groups(conf: ConfigOpts) -> list[str]:
    return [*LOGINS, *config.register_clouds(conf)]


def _needed(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    yield from _keys(conf)
    yield from _caches(conf)
    yield from _servers(conf)
    yield from _logins(conf)
    if conf.traces.endpoint and importlib.util.find_spec('opentelemetry') is None:
        yield _without_extra(conf, 'traces', 'endpoint', 'traces')


def _keys(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    if not conf.auth_encryption_key and not conf.auth_encryption_key_id:
        yield ConfigFinding(WARNING, _('[DEFAULT] auth_encryption_key is not set: engines do not start without it '
                                       '(allowed: %d characters).') % KEY_LENGTH,
                            _('Copy auth_encryption_key of another host; for a new installation make one with: openssl '
                              'rand -hex 16'))
    if key_manager.is_used(conf) and importlib.util.find_spec('castellan') is None:
        yield _without_extra(conf, settings.DEFAULT, key_manager.CURRENT if conf.auth_encryption_key_id
                             else key_manager.OTHERS, 'key-manager')
    for option, keys in (('auth_encryption_key', [conf.auth_encryption_key or '']),
                         ('auth_decryption_keys', conf.auth_decryption_keys)):
        for length in {len(key) for key in keys if key} - {KEY_LENGTH}:
            yield ConfigFinding(ERROR, _('%(option)s has %(found)d characters (allowed: %(wanted)d).') % {
                'option': _named(conf, settings.DEFAULT, option), 'found': length, 'wanted': KEY_LENGTH})
    if conf.auth_encryption_key in PUBLISHED_KEYS:
        yield ConfigFinding(WARNING, _('%s is a key that was published in an example: it keeps no secret.') % _named(
            conf, settings.DEFAULT, 'auth_encryption_key'),
            _('Make another one (openssl rand -hex 16), and change the key as docs/operators/secrets.rst says.'))


def _caches(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    """Libraries of memcached, which are imported with the first token or value.

    That for tokens is a warning: all hosts have the same files, engines validate no tokens, and the APIs only without
    a flavor.
    """
    if (conf.keystone_authtoken.memcached_servers and not conf.paste_deploy.flavor
            and importlib.util.find_spec('memcache') is None):
        yield ConfigFinding(WARNING, _(
            '%s: APIs on this host would answer 500 to each request with a token. Engines do not use the option.') % (
                _extra_of(conf, 'keystone_authtoken', 'memcached_servers', MEMCACHED)),
            release.INSTALL_EXTRA % MEMCACHED)
    module = CACHE_MODULES.get(conf.cache.backend) if conf.cache.enabled else None
    if module is not None and importlib.util.find_spec(module) is None:
        yield _without_extra(conf, 'cache', 'backend', MEMCACHED)


def _without_extra(conf: ConfigOpts, group: str, name: str, extra: str) -> ConfigFinding:
    return ConfigFinding(ERROR, f'{_extra_of(conf, group, name, extra)}.', release.INSTALL_EXTRA % extra)


def _extra_of(conf: ConfigOpts, group: str, name: str, extra: str) -> str:
    return _('%(option)s is set, and the extra "%(extra)s" of heatlite is not installed') % {
        'option': _named(conf, group, name), 'extra': extra}


def _open_ports(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    """Check that an API without a login is on the loopback interface."""
    host = str(conf.heat_api.bind_host)
    if conf.paste_deploy.flavor == 'noauth' and host not in LOOPBACK:
        yield ConfigFinding(
            ERROR, _('%(flavor)s lets every client of the port act as the operator, and %(host)s is %(found)s '
                     '(allowed: %(allowed)s).') % {
                'flavor': _named(conf, 'paste_deploy', 'flavor'), 'host': _named(conf, 'heat_api', 'bind_host'),
                'found': host, 'allowed': ', '.join(LOOPBACK)},
            _('Set [heat_api] bind_host = 127.0.0.1, or another flavor.'))


def _servers(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    """Check the database and the broker, of the home cell and of the others."""
    url = conf.database.connection or ''
    if not url:
        yield ConfigFinding(WARNING, _('[database] connection is not set: only heatlite-all starts without it '
                                       '(allowed: %s).') % ', '.join(settings.DATABASES),
                            _('Set [database] connection = %s.') % settings.EXAMPLE_DATABASE)
    elif url.partition('://')[0] in settings.DATABASES:         # of another one, its value is an error already
        yield from _driver(conf, url)
    if url and not url.startswith('sqlite') and (conf.transport_url or '') in NO_BROKER:
        yield ConfigFinding(
            WARNING, _('%(option)s names no broker: with a database server, engines and APIs exchange messages by one, '
                       'only heatlite-all works without it (allowed: %(allowed)s).') % {
                           'option': _named(conf, settings.DEFAULT, 'transport_url'),
                           'allowed': ', '.join(settings.BROKERS)},
            _('Set [DEFAULT] transport_url = %s, the same on all hosts.') % settings.EXAMPLE_BROKER)
    for name in conf.cells.names:
        group = options.cell_group(name)
        for option, allowed in (('connection', settings.DATABASES), ('transport_url', settings.BROKERS)):
            if group in conf and not conf[group][option]:
                yield ConfigFinding(ERROR, _('%(option)s is not set, and %(names)s has "%(name)s" (allowed: '
                                             '%(allowed)s).') % {
                    'option': _named(conf, group, option), 'names': _named(conf, 'cells', 'names'), 'name': name,
                    'allowed': ', '.join(allowed)},
                    _('Set [%(group)s] %(option)s to what the engines of this cell have.') % {
                        'group': group, 'option': option})


@functools.cache
def _login_plugins() -> frozenset[str]:
    """Names allowed for `auth_type`. Reads the entry points of all installed packages."""
    from keystoneauth1 import loading
    return frozenset(loading.get_available_plugin_names())


def unread_url(conf: ConfigOpts, group: str) -> str:
    """Where auth_url of a login is set ('FILE:LINE: '), but is no option, as auth_type does not say how to log in; ''
    if it is read, or not set."""
    return '' if conf[group].auth_type else settings.place(conf, group, 'auth_url')


def _logins(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    known = ', '.join(sorted(_login_plugins()))
    for group in _login_groups(conf):
        chosen = conf[group].auth_type
        if chosen and chosen not in _login_plugins():
            yield ConfigFinding(ERROR, _('%(option)s "%(chosen)s" is not known%(meant)s (allowed: %(known)s)') % {
                'option': _named(conf, group, 'auth_type'), 'chosen': chosen, 'known': known,
                'meant': settings.meant(chosen, _login_plugins())})
        elif unread := unread_url(conf, group):
            yield ConfigFinding(WARNING, _('%(place)s[%(group)s] auth_url is never read: [%(group)s] auth_type is not '
                                           'set (allowed: %(known)s)') % {
                'place': unread, 'group': group, 'known': known}, _('Set [%s] auth_type = password.') % group)
    if not conf.paste_deploy.flavor and not conf.keystone_authtoken.auth_type:
        yield ConfigFinding(WARNING, _('[keystone_authtoken] auth_type is not set: the APIs cannot check tokens '
                                       '(allowed: %s)') % known,
                            _('Set auth_type = password, auth_url, username, password, user_domain_id, project_name '
                              'and project_domain_id in [keystone_authtoken]; heatlite-manage setup keystone prints '
                              'them.'))


def _driver(conf: ConfigOpts, url: str) -> Iterator[ConfigFinding]:
    from sqlalchemy import exc

    from heatlite.db import connection
    option = _named(conf, 'database', 'connection')
    try:
        connection.check_driver(connection.parsed_url(url))
    except exception.HeatException as error:
        yield ConfigFinding(ERROR, f'{option}: {error}')
    except ImportError as error:
        driver = error.name or str(error)
        yield ConfigFinding(ERROR, _('%(option)s: the driver of this database, the Python module %(driver)s, cannot '
                                     'be imported: %(error)s') % {'option': option, 'driver': driver, 'error': error},
                            release.INSTALL_EXTRA % EXTRAS[driver] if driver in EXTRAS else
                            _('Install the package of the module %s, for the Python of heatlite.') % driver)
    except exc.ArgumentError as error:
        yield ConfigFinding(ERROR, f'{option}: {type(error).__name__}: {error}')


def _places(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    plugin_dirs = _named(conf, settings.DEFAULT, 'plugin_dirs')
    for folder in conf.plugin_dirs:
        if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
            yield ConfigFinding(ERROR, f'{plugin_dirs}: {folder} cannot be read', READABLE)
        elif not os.path.isdir(folder) and list(conf.plugin_dirs) != _PLUGIN_DIRS:
            yield ConfigFinding(WARNING, f'{plugin_dirs}: there is no folder {folder}',
                                _('Correct [DEFAULT] plugin_dirs, or: mkdir -p %s') % folder)
    for file in settings.files(conf):
        mode = Path(file).stat().st_mode
        if mode & 0o004 and any(place.value for place in settings.places([file]) if _is_secret(conf, place)):
            yield ConfigFinding(WARNING, f'{file} has passwords in it, and every user of this machine may read it',
                                f'chmod o-r {file}')
    for group in ('heat_api', 'heat_api_cfn', 'heat_api_cloudwatch'):
        for name in ('cert_file', 'key_file'):
            path = conf[group][name]
            if path and not os.access(path, os.R_OK):
                yield ConfigFinding(ERROR, f'{_named(conf, group, name)}: {path} cannot be read', READABLE)
    yield from _prices(conf)
    if conf.cloud_backend:
        module = conf.cloud_backend.rpartition('.')[0]
        if module and not module.startswith(('heat.', 'heatlite.')):
            try:
                importlib.import_module(module)
            except Exception as error:
                yield ConfigFinding(ERROR, f'{_named(conf, settings.DEFAULT, "cloud_backend")}: {conf.cloud_backend}: '
                                           f'{type(error).__name__}: {error}')


def _prices(conf: ConfigOpts) -> Iterator[ConfigFinding]:
    from heatlite.engine.requests import price_file
    file = conf.plans.prices
    try:
        price_file.load(file)
    except exception.HeatException as error:
        is_read = os.access(file, os.R_OK)
        yield ConfigFinding(ERROR, f'{_named(conf, "plans", "prices")}: {error}', CORRECT if is_read else READABLE)


def _is_secret(conf: ConfigOpts, place: settings.OptionPlace) -> bool:
    opt = settings.registered(conf).get((place.group, place.name))
    return opt is not None and bool(opt.secret)
