"""Validates configuration files: one line for each finding, with file and line.

Values of options are checked when a program starts, before it starts workers; unknown names are warnings, because a
file written for Heat may have options without a meaning here.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg
from oslo_config.sources import _environment

from heatlite.common import foreign_options

DEFAULT = 'DEFAULT'
WITHOUT_EFFECT = 'Without effect'       # how the help of an option begins that nothing reads
FILE, FOLDER = '--config-file', '--config-dir'
DATABASES = ('mysql', 'mysql+pymysql', 'mariadb', 'mariadb+pymysql', 'postgresql', 'postgresql+psycopg2', 'postgres',
             'sqlite')
EXAMPLE_DATABASE = 'mysql+pymysql://USER:PASSWORD@HOST/NAME'
EXAMPLE_BROKER = 'rabbit://USER:PASSWORD@HOST:5672/'
BROKERS = ('rabbit', 'amqp', 'kombu', 'fake', 'kafka')
TRUE = ('true', '1', 'on', 'yes')       # as oslo.config reads them
FALSE = ('', 'false', '0', 'off', 'no', '<none>')        # to switch off what is not there needs no warning
URLS = {('database', 'connection'): DATABASES, ('database', 'slave_connection'): DATABASES,
        (DEFAULT, 'transport_url'): BROKERS, ('oslo_messaging_notifications', 'transport_url'): BROKERS}
# Options with the URL of a service, or with several, and an example of one.
_KEYSTONE, _SERVER = 'http://HOST:5000/v3', 'http://HOST:8000'
HTTP_URLS = {
    ('keystone_authtoken', 'auth_url'): _KEYSTONE, ('trustee', 'auth_url'): _KEYSTONE,
    ('keystone_authtoken', 'www_authenticate_uri'): _KEYSTONE, ('keystone_authtoken', 'auth_uri'): _KEYSTONE,
    ('clients_keystone', 'auth_uri'): _KEYSTONE, ('ec2authtoken', 'auth_uri'): _KEYSTONE,
    ('ec2authtoken', 'allowed_auth_uris'): _KEYSTONE, ('auth_password', 'allowed_auth_uris'): _KEYSTONE,
    (DEFAULT, 'heat_metadata_server_url'): _SERVER, (DEFAULT, 'heat_watch_server_url'): 'http://HOST:8003',
    (DEFAULT, 'heat_waitcondition_server_url'): f'{_SERVER}/v1/waitcondition',
    ('clients_heat', 'url'): 'http://HOST:8004/v1/%(tenant_id)s', ('traces', 'endpoint'): 'http://HOST:4318/v1/traces',
    ('vault', 'vault_url'): 'http://HOST:8200', ('barbican', 'barbican_endpoint'): 'http://HOST:9311',
    ('barbican', 'auth_endpoint'): _KEYSTONE}
# Switches of libraries -> what they need, the variable that is its default in the library, and for what.
NEEDED = {('oslo_messaging_rabbit', 'use_queue_manager'): (
    ('oslo_concurrency', 'lock_path'), 'OSLO_LOCK_PATH',
    'a folder in which the processes of a host lock the numbers of their queues')}
_SECTION = re.compile(r'\[([^]]+)\]\s*\Z')
_PORT = re.compile(r'(?:\[[^]]*\]|[^:\[\]]*)(?::(\d{1,5}))?')        # after a host, or an IPv6 address in brackets
_WRONG_ARGUMENT = re.compile(r'argument --([^\s:]+): Invalid [^:]* value: (.*)\n\Z')
_ASSIGNMENT = re.compile(r'([^\s:=][^:=]*?)\s*[:=]\s*(.*)\Z')


@dataclass(frozen=True)
class OptionPlace:
    """An assignment of an option: its place and its value."""

    where: str                  # file:line, a variable of the environment, or --set
    group: str
    name: str
    value: str


class Assignments(_environment.EnvironmentConfigurationSource):
    """The source of `--set`, which overrides the environment and the files, also for options registered later."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], list[str]] = {}

    def get(self, group_name: str | None, option_name: str, opt: cfg.Opt) -> tuple[object, cfg.LocationInfo | None]:
        names = [(group_name or DEFAULT, option_name)]
        names += [(old.group or group_name or DEFAULT, (old.name or option_name).replace('-', '_'))
                  for old in opt.deprecated_opts]
        for name in names:
            if name in self.values:
                found = self.values[name]
                return (found if opt.multi else found[-1],
                        cfg.LocationInfo(cfg.Locations.command_line, f'--set {".".join(name)}'))
        return super().get(group_name, option_name, opt)


def assignments(conf: cfg.ConfigOpts) -> Assignments:
    """Return the source of `--set` of these options, made at first use."""
    if not isinstance(conf._env_driver, Assignments):
        conf._env_driver = Assignments()
    found: Assignments = conf._env_driver
    return found


def is_used(conf: cfg.ConfigOpts, group: str) -> bool:
    """Whether options of a group are registered, or a file, `--set` or the environment sets one.

    The library of a group that is not used need not be loaded.
    """
    return (group in conf or group in conf.list_all_sections()
            or any(place[0] == group for place in assignments(conf).values)
            or any(name.startswith(f'OS_{group.upper()}__') for name in os.environ))


def places(files: Iterable[str]) -> Iterator[OptionPlace]:
    """All assignments in configuration files, in order. Unreadable files have none."""
    for file in files:
        try:
            text = Path(file).read_text(errors='replace')
        except OSError:
            continue
        group = DEFAULT
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line[0] in '#;' or line[0].isspace():
                continue                            # empty, a comment, or a continued value
            section = _SECTION.match(line)
            if section:
                group = section[1]
            elif found := _ASSIGNMENT.match(line):
                yield OptionPlace(f'{file}:{number}', group, found[1].replace('-', '_'), found[2])


def named_sources(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return the files and folders of options that a command line names, in its order: FILE or FOLDER, and the path."""
    words, found = iter(arguments), []
    for word in words:
        option, equals, path = word.partition('=')
        if option in (FILE, FOLDER):
            found.append((option, path if equals else next(words, '')))
    return found


def sources(conf: cfg.ConfigOpts) -> list[tuple[str, str]]:
    """Return the files and folders of options, in the order in which they were read: FILE or FOLDER, and the path.

    oslo.config reads those that the command line does not name first. Its own list of named folders has only the last.
    """
    named = named_sources(conf._args or ())
    options = {option for option, _path in named}
    found = [] if FILE in options else [(FILE, str(path)) for path in conf.default_config_files]
    if FOLDER not in options:
        found += [(FOLDER, str(path)) for path in conf.default_config_dirs if os.path.exists(path)]
    return found + named


def files(conf: cfg.ConfigOpts) -> list[str]:
    """Return the files that were read, including those of folders, in the order in which they were read."""
    found = []
    for option, path in sources(conf):
        path = os.path.expanduser(path)
        found += [path] if option == FILE else sorted(glob.glob(os.path.join(path, '*.conf')))
    return found


def variables(conf: cfg.ConfigOpts) -> list[OptionPlace]:
    """All assignments of the environment, `OS_GROUP__NAME`. Those of clients have no two underscores."""
    groups = {group.upper(): group for group in (DEFAULT, *conf._groups)}
    found = []
    for variable, value in sorted(os.environ.items()) if conf._use_env else ():
        group, _between, name = variable.removeprefix('OS_').partition('__')
        if variable.startswith('OS_') and group and name:
            found.append(OptionPlace(variable, groups.get(group, group.lower()), name.lower(), value))
    return found


def stated(conf: cfg.ConfigOpts) -> list[OptionPlace]:
    """All assignments of the files, the environment and --set, in order of increasing precedence."""
    return [*places(files(conf)), *variables(conf), *(
        OptionPlace(f'--set {group}.{name}', group, name, value)
        for (group, name), values in assignments(conf).values.items() for value in values)]


def place(conf: cfg.ConfigOpts, group: str, name: str) -> str:
    """'FILE:LINE: ', or the variable, of the assignment of an option that applies; '' if there is none."""
    found = [each.where for each in stated(conf) if (each.group, each.name) == (group, name)]
    return f'{found[-1]}: ' if found else ''


# --- values ----------------------------------------------------------------------------------------------

def registered(conf: cfg.ConfigOpts) -> dict[tuple[str, str], cfg.Opt]:
    """All registered options, by group and name."""
    found = {(DEFAULT, name): info['opt'] for name, info in conf._opts.items()}
    for group, entry in conf._groups.items():
        found |= {(group, name): info['opt'] for name, info in entry._opts.items()}
    return found


def wrong_argument(conf: cfg.ConfigOpts, said: str) -> str:
    """Return the line for an invalid value of an option that the command line has, too; '' if the text of oslo.config
    is about something else. The library checks them itself, wherever the value is from, and does not say so."""
    found = _WRONG_ARGUMENT.match(said)
    opt = registered(conf).get((DEFAULT, found[1])) if found else None
    if found is None or opt is None:
        return ''
    option, value = f'--{opt.name}', found[2]
    is_argument = any(word.partition('=')[0] == option for word in conf._args or ())
    where = f'{option} {value}' if is_argument else f'{place(conf, DEFAULT, opt.dest)}[DEFAULT] {opt.dest} = {value}'
    choices = getattr(opt.type, 'choices', None) or ()
    return f'{where}: the value is not allowed{meant(value, choices)} (allowed: {allowed(opt)})'


def wrong_values(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a line for each value that is invalid for its option."""
    said = {(place.group, place.name): place for place in stated(conf)}
    for (group, name), opt in registered(conf).items():
        if isinstance(opt, cfg.SubCommandOpt):
            continue
        try:
            conf[name] if group == DEFAULT else conf[group][name]
        except (cfg.Error, ValueError) as error:
            place = next((said[key] for key in [(group, name), *(
                (old.group or group, (old.name or name).replace('-', '_')) for old in opt.deprecated_opts)]
                if key in said), None)
            why = reason(error)
            value = f' = {place.value if not opt.secret else "***"}' if place is not None else ''
            yield (f'{place.where + ": " if place is not None else ""}[{group}] {name}{value}: '
                   f'{why if not opt.secret else "the value is not allowed"} (allowed: {allowed(opt)})')
    for key, schemes in URLS.items():
        if key in said and said[key].value:
            place, scheme = said[key], said[key].value.partition('://')[0].partition('+')
            whole = said[key].value.partition('://')[0]
            if (whole if schemes is DATABASES else scheme[0]) not in schemes:
                yield (f'{place.where}: [{place.group}] {place.name}: no driver for "{whole[:40]}://"'
                       f'{meant(whole, schemes)} (allowed: {", ".join(schemes)})')
    yield from _wrong_brokers(said)
    yield from _wrong_urls(said)
    for key, (needed, variable, purpose) in NEEDED.items():
        if key in said and said[key].value.lower() in TRUE and needed not in said and not any(
                os.environ.get(name) for name in (variable, f'OS_{"__".join(needed)}'.upper())):
            place = said[key]
            yield f'{place.where}: [{place.group}] {place.name} needs [{needed[0]}] {needed[1]}: {purpose}'


def reason(error: Exception) -> str:
    """Return why a value is invalid, in our words where those of the library are Python's."""
    found = str(error).split('is not valid: ', 1)[-1]
    is_pythons = found.startswith(('invalid literal for int', 'could not convert string to float'))
    return 'not a number' if is_pythons else found


def _wrong_brokers(said: Mapping[tuple[str, str], OptionPlace]) -> Iterator[str]:
    """Yield a line for each transport URL, also of a cell, whose hosts cannot be read."""
    for place in said.values():
        if place.name != 'transport_url':
            continue
        why = wrong_hosts(_unquoted(place.value)) if '$' not in place.value else ''     # `$`: refers to other options
        if why:
            yield f'{place.where}: [{place.group}] transport_url: {why} (allowed: a URL such as {EXAMPLE_BROKER})'


def _wrong_urls(said: Mapping[tuple[str, str], OptionPlace]) -> Iterator[str]:
    """Yield a line for each URL of a service that no client of HTTP can use."""
    for place in said.values():
        example = HTTP_URLS.get((_kind_of(place.group), place.name))
        if example is None or '$' in place.value:       # `$`: refers to other options
            continue
        for url in _unquoted(place.value).split(',') if place.name.endswith('s') else [_unquoted(place.value)]:
            if (url := url.strip()) and not is_http_url(url):
                shown = url if '@' not in url else '***'        # it may have a password
                yield (f'{place.where}: [{place.group}] {place.name} = {shown}: not a URL that begins with http:// or '
                       f'https:// and a host (allowed: a URL such as {example})')


def wrong_hosts(url: str) -> str:
    """Why the messaging library cannot read the hosts of a transport URL; '' if it can. Never names a password."""
    try:
        hosts = [each for each in urllib.parse.urlsplit(url).netloc.split(',') if each]
    except ValueError:                      # a bracket that is not closed
        return 'the URL is malformed'
    for host in hosts:
        address = host.rpartition('@')[2]
        port = _PORT.fullmatch(address)
        if port is None or not 0 < int(port[1] or 1) < 65536:
            return ('a host has no port from 1 to 65535 after its colon; write special characters of a password as '
                    '%XX, as %2F for a slash')
    return ''


def _kind_of(group: str) -> str:
    """Return the group that has the same options: `ec2authtoken` of `ec2authtoken.NAME`."""
    return group.partition('.')[0] if group.startswith('ec2authtoken.') else group


def _unquoted(value: str) -> str:
    """Return a value without the blanks and the quotes that oslo.config leaves out."""
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in '"\'' else value


def is_http_url(text: str) -> bool:
    """Whether a client of HTTP can use the URL: it has the scheme http or https, a host, and no port that is wrong."""
    try:
        found = urllib.parse.urlsplit(text)
        return found.scheme in ('http', 'https') and bool(found.hostname) and found.port != 0
    except ValueError:                      # the port is no number, or the address is malformed
        return False


def allowed(opt: cfg.Opt) -> str:
    """Describe the values that an option accepts."""
    kind: object = opt.type
    name = type(kind).__name__.lower() if not isinstance(kind, type) else kind.__name__
    choices = getattr(kind, 'choices', None)
    if choices:
        return ', '.join(repr(choice) for choice in choices)
    bounds = [f'{word} {bound}' for word, bound in (('from', getattr(kind, 'min', None)),
                                                    ('to', getattr(kind, 'max', None))) if bound is not None]
    return ' '.join([{'hostaddress': 'host name or address', 'port': 'port number'}.get(name, name), *bounds])


# --- names -----------------------------------------------------------------------------------------------

def known_names(conf: cfg.ConfigOpts) -> dict[str, set[str]]:
    """Names of options by group: registered ones with their former names, those of libraries, those of Heat."""
    found: dict[str, set[str]] = {group: set() for group in foreign_options.HEAT_GROUPS}
    for (group, name), opt in registered(conf).items():
        found.setdefault(group, set()).add(name)
        for old in opt.deprecated_opts:
            found.setdefault(old.group or group, set()).add((old.name or name).replace('-', '_'))
    for table in (foreign_options.LIBRARIES, foreign_options.HEAT):
        for group, names in table.items():
            found.setdefault(group, set()).update(names.split())
    for group, names_of_group in found.items():
        if _kind_of(group) != group:
            names_of_group |= found[_kind_of(group)]        # those of its login
    return found


def unknown_names(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a line for each unknown option in the files and the environment, with the name that may have been meant."""
    known = known_names(conf)
    for place in (*places(files(conf)), *variables(conf)):
        problem = unknown(known, place.group, place.name)
        if problem:
            yield f'{place.where}: {problem}'


def without_effect(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield a line for each option that is set and that nothing reads, with the reason.

    oslo.config reports a deprecated option when it is first read: that is before there is a log.
    """
    known = registered(conf)
    named = set()                           # of a group that nothing reads, one line says so
    for place in stated(conf):
        key = place.group, place.name
        opt = known.get(key)
        if opt is not None and (opt.help or '').startswith(WITHOUT_EFFECT):
            yield f'{place.where}: [{place.group}] {place.name}: {opt.deprecated_reason}'
        elif place.value.lower() not in FALSE and key not in foreign_options.READ and key not in named:
            instead = foreign_options.UNREAD.get(key) or foreign_options.UNREAD_GROUPS.get(place.group)
            if instead is not None and place.group not in named:
                named.add(key if key in foreign_options.UNREAD else place.group)
                yield (f'{place.where}: [{place.group}] {place.name}: Accepted for existing files and without effect: '
                       f'{instead}.')


def unknown(known: Mapping[str, set[str]], group: str, name: str) -> str:
    """Why there is no such option; empty if there is one, or if that cannot be decided."""
    if group not in known:
        alike = [found for found, names in known.items() if name in names and found != DEFAULT]
        guess = difflib.get_close_matches(group, known, 1, 0.7)
        if not guess and not alike:
            return ''                               # a group of a plug-in, or of another release
        return f'there is no group [{group}]{meant(group, guess or alike)}'
    if name in known[group] or group in foreign_options.HEAT_GROUPS or (
            'auth_type' in known[group] and _kind_of(group) not in foreign_options.LIBRARIES):
        return ''
    homes = [other for other, names in known.items() if name in names]
    if not difflib.get_close_matches(name, known[group], 1, 0.75) and homes:
        return f'there is no option {name} in [{group}]; did you mean [{homes[0]}] {name}?'
    return f'there is no option {name} in [{group}]{meant(name, known[group])}'


def meant(word: str, choices: Iterable[str]) -> str:
    found = difflib.get_close_matches(word, list(choices), 1, 0.6)
    return f'; did you mean {found[0]}?' if found else ''

