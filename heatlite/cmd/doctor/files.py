"""Checks of files and folders, of the log, of TLS, of ports and of the limits of the system."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import shutil
import socket
import ssl
import stat
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.site import Site
from heatlite.common import config, health, options, settings
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

APIS = ('heat_api', 'heat_api_cfn', 'heat_api_cloudwatch')
LITTLE_SPACE, NO_SPACE = 2 ** 30, 2 ** 26       # bytes that are free: a warning, a failure
MOST_FILES = 10_000                             # whose modes are looked at, in one folder
RUNTIME_FOLDER = Path('/run/heatlite')          # systemd makes it, for the user of the units, when one starts
SOON = 30                                       # days until a certificate expires


# --- folders ----------------------------------------------------------------------------------------------

def folders(site: Site) -> Iterator[tuple[str, Path]]:
    """(option, folder) of all folders with code or environments that the service executes or applies."""
    conf = site.conf
    for folder in conf.plugin_dirs:
        yield '[DEFAULT] plugin_dirs', Path(folder)
    yield '[DEFAULT] environment_dir', Path(conf.environment_dir)
    yield '[DEFAULT] template_dir', Path(conf.template_dir)
    for folder in conf.oslo_policy.policy_dirs:
        yield '[oslo_policy] policy_dirs', Path(folder)


def trusted_files(site: Site) -> Iterator[DoctorFinding]:
    """Only the operator may change code, environments and configuration."""
    named = [(option, folder) for option, folder in folders(site) if folder.is_dir()]
    named += [(f'{settings.FILE}, {settings.FOLDER}', Path(path).expanduser())
              for _option, path in settings.sources(site.conf)]
    for option, path in named:
        for each in (path, *(sorted(itertools.islice(path.rglob('*'), MOST_FILES)) if path.is_dir() else ())):
            if each.is_symlink() or not each.exists():
                continue
            mode = each.stat().st_mode
            if mode & stat.S_IWOTH and not (mode & stat.S_ISVTX and each.is_dir()):
                yield DoctorFinding(_('Only the operator may change what %s names: it is executed or applied for '
                                      'everybody.') % option,
                                    _('Every user of this host may write %s.') % each, f'chmod o-w {each}')


def private_files(site: Site) -> Iterator[DoctorFinding]:
    """Keys, which only the user of the service may read."""
    state = Path(site.conf.embedded.state_dir).expanduser() / 'encryption-key'
    named = [('[embedded] state_dir', state), *((f'[{group}]', Path(key)) for group, _certificate, key in
                                                _certificates(site) if key)]
    for option, file in named:
        if file.is_file() and file.stat().st_mode & stat.S_IROTH:
            yield DoctorFinding(_('Only the service may read the key of %s.') % option,
                                _('Every user of this host may read %s.') % file, f'chmod 600 {file}', WARNING)


def is_default(site: Site, name: str) -> bool:
    return bool(site.conf[name] == next(opt.default for opt in options.PLUGINS if opt.dest == name))


def readable_folders(site: Site) -> Iterator[DoctorFinding]:
    for name in ('environment_dir', 'template_dir'):
        folder = site.conf[name]
        if not os.path.isdir(folder):
            if not is_default(site, name):
                yield DoctorFinding(_('The folder of [DEFAULT] %s exists.') % name, _('There is no %s.') % folder,
                                    _('Correct [DEFAULT] %(name)s, or: mkdir -p %(folder)s')
                                    % {'name': name, 'folder': folder})
        elif not os.access(folder, os.R_OK | os.X_OK):
            yield DoctorFinding(_('The service can read the folder of [DEFAULT] %s.') % name,
                                _('%s cannot be read.') % folder, f'chmod o+rx {folder}')


def locks(site: Site) -> Iterator[DoctorFinding]:
    """Accept a folder that is not there: the programs make it when they start."""
    folder = site.conf.oslo_concurrency.lock_path
    if folder and (can_be_made(Path(folder)) or RUNTIME_FOLDER in (Path(folder), *Path(folder).parents)):
        return
    yield DoctorFinding(_('The folder of [oslo_concurrency] lock_path can be made and written.'),
                        _('%s cannot.') % (folder or _('It is not set;')),
                        _('Set [oslo_concurrency] lock_path = %s/locks, which the units make; without systemd, make '
                          'this folder for the user of the service: mkdir -p.') % RUNTIME_FOLDER)


def can_be_made(folder: Path) -> bool:
    """Whether the folder, or the nearest of its parents that exists, can be written."""
    nearest = next((each for each in (folder, *folder.parents) if each.exists()), None)
    return nearest is not None and nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def no_locks(site: Site) -> str:
    return '' if site.conf.oslo_messaging_rabbit.use_queue_manager else _('use_queue_manager is off')


def space(site: Site) -> Iterator[DoctorFinding]:
    """Of the folders that the service writes to, if they exist."""
    conf = site.conf
    written = {_('the log'): conf.log_dir or (os.path.dirname(conf.log_file) if conf.log_file else None)}
    url = conf.database.connection or ''
    if url.startswith('sqlite:///'):
        written[_('the database')] = os.path.dirname(url.removeprefix('sqlite:///').split('?')[0]) or '.'
    for what, folder in written.items():
        if folder and os.path.isdir(folder):
            yield from enough_space(what, folder, shutil.disk_usage(folder).free)


def enough_space(what: str, folder: str, free: int) -> Iterator[DoctorFinding]:
    """`free`: bytes."""
    if free < LITTLE_SPACE:
        yield DoctorFinding(_('The disk of %(what)s has %(least)d MiB free.') % {'what': what,
                                                                                 'least': LITTLE_SPACE >> 20},
                            _('%(folder)s has %(free)d MiB.') % {'folder': folder, 'free': free >> 20},
                            _('Free space there, or move the folder.'), FAILED if free < NO_SPACE else WARNING)


# --- certificates -----------------------------------------------------------------------------------------

def no_tls(site: Site) -> str:
    return '' if list(_certificates(site)) else _('no certificate is configured')


def _certificates(site: Site) -> Iterator[tuple[str, str, str | None]]:
    """(group, certificate, key) of the listeners and of the clients."""
    conf = site.conf
    for group in (*APIS, 'clients', *(f'clients_{name}' for name in options.CLIENT_NAMES), 'ec2authtoken'):
        if conf[group].cert_file:
            yield group, conf[group].cert_file, conf[group].key_file
    given = conf.oslo_messaging_rabbit
    if given.ssl_cert_file:
        yield 'oslo_messaging_rabbit', given.ssl_cert_file, given.ssl_key_file
    if conf.keystone_authtoken.certfile:
        yield 'keystone_authtoken', conf.keystone_authtoken.certfile, conf.keystone_authtoken.keyfile


def certificates(site: Site) -> Iterator[DoctorFinding]:
    for group, certificate, key in _certificates(site):
        expected = _('The certificate and the key of [%s] belong together and are valid.') % group
        fix = _('Correct cert_file and key_file of [%s], or renew the certificate.') % group
        unreadable = [file for file in (certificate, key) if file and not os.access(file, os.R_OK)]
        if unreadable:
            yield DoctorFinding(expected, _('%s cannot be read.') % ', '.join(unreadable), fix)
            continue
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            yield DoctorFinding(expected, f'{certificate}, {key}: {error}', fix)
            continue
        yield from validity(certificate, group, datetime.fromtimestamp(site.now(), UTC))


def validity(file: str, group: str, now: datetime) -> Iterator[DoctorFinding]:
    """Of all certificates of a chain, the own one first."""
    from cryptography import x509
    chain = x509.load_pem_x509_certificates(Path(file).read_bytes())
    for position, each in enumerate(chain):
        name = each.subject.rfc4514_string()
        expected = _('The certificates of [%(group)s] are valid for %(days)d more days.') % {
            'group': group, 'days': SOON}
        fix = _('Renew the certificate in %s, and restart the program.') % file
        if now < each.not_valid_before_utc:
            yield DoctorFinding(expected, _('%(name)s is valid from %(when)s on.')
                                % {'name': name, 'when': each.not_valid_before_utc}, fix)
        elif (left := (each.not_valid_after_utc - now).days) < SOON:
            yield DoctorFinding(expected, _('%(name)s expires at %(when)s.')
                                % {'name': name, 'when': each.not_valid_after_utc}, fix,
                                FAILED if left < 0 else WARNING)
        if position and chain[position - 1].issuer != each.subject:
            yield DoctorFinding(_('Each certificate of %s is followed by that of its issuer.') % file,
                                _('After %(first)s comes %(second)s.')
                                % {'first': chain[position - 1].subject.rfc4514_string(), 'second': name},
                                _('Write the certificate of the server first, then those of its issuers.'))


def authorities(site: Site) -> Iterator[DoctorFinding]:
    """Files with the authorities to trust."""
    conf = site.conf
    named = [(f'[{group}] ca_file', conf[group].ca_file)
             for group in ('clients', *(f'clients_{name}' for name in options.CLIENT_NAMES), 'ec2authtoken',
                           *config.register_clouds(conf))]
    named += [('[keystone_authtoken] cafile', conf.keystone_authtoken.cafile),
              ('[oslo_messaging_rabbit] ssl_ca_file', conf.oslo_messaging_rabbit.ssl_ca_file)]
    for option, file in named:
        if file:
            try:
                ssl.create_default_context(cafile=file)
            except (OSError, ssl.SSLError) as error:
                yield DoctorFinding(_('The file of %s has certificates of authorities.') % option,
                                    f'{file}: {getattr(error, "strerror", None) or error}', _('Correct %s.') % option)


# --- ports ------------------------------------------------------------------------------------------------

def ports(site: Site) -> Iterator[DoctorFinding]:
    """Each port of this host is free, or is answered by the service itself."""
    taken: dict[int, str] = {}
    for option, scheme, host, port in listeners(site.conf):
        if port in taken:
            yield DoctorFinding(_('Each program has a port of its own.'),
                                _('%(one)s and %(other)s have port %(port)d.')
                                % {'one': taken[port], 'other': option, 'port': port}, _('Change %s.') % option)
            continue
        taken[port] = option
        problem = listening_problem(host, port)
        if problem and not answered_by_us(scheme, host, port, site.timeout):
            yield DoctorFinding(_('The service can listen on %(host)s port %(port)d of %(option)s, or listens there.')
                                % {'host': host, 'port': port, 'option': option}, problem,
                                _('Stop the other program (ss -ltnp shows it), or change %s.') % option)


def listeners(conf: ConfigOpts) -> Iterator[tuple[str, str, str, int]]:
    """(option, scheme, host, port) of the APIs, and of the figures of the engines of this host."""
    for group in APIS:
        given = conf[group]
        yield f'[{group}] bind_port', 'https' if given.cert_file else 'http', given.bind_host, given.bind_port
    if conf.metrics.engine_port:
        for number in range(max(conf.num_engine_workers, 1)):
            yield '[metrics] engine_port', 'http', '127.0.0.1', conf.metrics.engine_port + number


def listening_problem(host: str, port: int) -> str:
    """Why the port cannot be listened on; '' if it can. Listens for a moment, without accepting."""
    try:
        with closing(socket.create_server((host, port), family=socket.AF_INET6 if ':' in host else socket.AF_INET,
                                          backlog=1)):
            return ''
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _('Another program listens there, which is not an API of heatlite.')
        return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def answered_by_us(scheme: str, host: str, port: int, timeout: float) -> bool:
    """Whether an API of heatlite, or of Heat, answers /healthcheck there."""
    address = {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(host, host)
    address = f'[{address}]' if ':' in address else address
    trusting = ssl._create_unverified_context() if scheme == 'https' else None      # only whether it is ours
    try:
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), *([urllib.request.HTTPSHandler(context=trusting)] if trusting else []))
        with opener.open(f'{scheme}://{address}:{port}{health.LIVE}', timeout=timeout) as answer:
            return b'"reasons"' in answer.read(4096)
    except OSError:
        return False


# --- the system -------------------------------------------------------------------------------------------

def descriptors(site: Site) -> Iterator[DoctorFinding]:
    yield from enough_descriptors(resource.getrlimit(resource.RLIMIT_NOFILE)[1], needed_descriptors(site.conf))


def needed_descriptors(conf: ConfigOpts) -> int:
    """Files that one process may have open at once: connections of clients and of both pools, and a few."""
    pools = 2 * (conf.database.max_pool_size + (conf.database.max_overflow or 0))
    peers = [*(conf[group].max_connections for group in APIS), conf.engine.runner_pool_size]
    return int(max(peers) + pools + 64)


def enough_descriptors(limit: int, needed: int) -> Iterator[DoctorFinding]:
    if limit not in (resource.RLIM_INFINITY, -1) and limit < needed:
        yield DoctorFinding(_('A process may open %d files: connections of clients and to the database.') % needed,
                            _('The limit of this user is %d (ulimit -Hn).') % limit,
                            _('Set LimitNOFILE=65536 in the unit of systemd, or lower max_connections of the APIs.'),
                            WARNING)


CHECKS = (
    Check('folders', _('environment_dir and template_dir can be read'), readable_folders),
    Check('permissions', _('only the operator may change configuration, plug-ins and environments'), trusted_files),
    Check('private-keys', _('only the service may read its keys'), private_files),
    Check('lock-path', _('lock_path can be written, as use_queue_manager needs it'), locks, unused=no_locks),
    Check('disk-space', _('the disks of log and database have space'), space),
    Check('certificates', _('certificates and keys belong together and are valid'), certificates, unused=no_tls),
    Check('authorities', _('files with certificates of authorities can be read'), authorities),
    Check('ports', _('the ports of APIs and engines are free, or answered by them'), ports),
    Check('open-files', _('the limit of open files is enough for all connections'), descriptors),
)
