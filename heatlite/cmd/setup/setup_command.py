"""heatlite-manage setup keystone: the options, the login of the administrator, passwords, and what is printed."""

from __future__ import annotations

import argparse
import getpass
import os
import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from heatlite.cmd.setup import identity
from heatlite.common import exception, netutils
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from openstack.config.cloud_region import CloudRegion
    from oslo_config.cfg import ConfigOpts

COMMAND = 'setup'
TIMEOUT = 60.0                                  # seconds without an answer of Keystone
# Passwords in the environment, for programs that install.
SERVICE_VARIABLE, DOMAIN_VARIABLE = 'HEATLITE_SERVICE_PASSWORD', 'HEATLITE_DOMAIN_ADMIN_PASSWORD'
WORDS = {identity.MADE: (_('made'), _('would make')), identity.CHANGED: (_('changed'), _('would change')),
         identity.DIFFERS: (_('differs'), _('differs')), identity.THERE: (_('is there'), _('is there'))}


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(COMMAND, help=_('Make what is needed in other services, such as Keystone.'))
    inner = parser.add_subparsers(dest='setup_command', required=True)
    keystone = inner.add_parser(
        'keystone', help=_('Make user, roles, domain and endpoints; may be run again.'),
        description=_('Makes the service user with its roles, the domain for users inside stacks with its '
                      'administrator, and the endpoints; prints the options to add to heatlite.conf. What exists '
                      'stays as it is. Exit code: 0, 1 if something differs or failed, 2 for wrong usage.'),
        epilog=_('The administrator of Keystone is named by --os-cloud (clouds.yaml) or by OS_* variables. Passwords: '
                 '%(service)s and %(domain)s, else those of the configuration, else generated.')
        % {'service': SERVICE_VARIABLE, 'domain': DOMAIN_VARIABLE})
    keystone.add_argument('--os-cloud', metavar='NAME', help=_('A cloud of clouds.yaml, with its administrator.'))
    keystone.add_argument('--region', metavar='NAME', help=_('Of the endpoints. Default: that of the cloud.'))
    keystone.add_argument('--host', metavar='HOST', dest='api_host',
                          help=_('Where all APIs are reached: http://HOST:8004 and so on.'))
    keystone.add_argument('--url', metavar='TYPE[.INTERFACE]=URL', action='append', default=[], type=_endpoint,
                          help=_('Of one endpoint, such as orchestration.internal=http://10.0.0.1:8004/v1/'
                                 '%%(project_id)s. May be repeated.'))
    keystone.add_argument('--without', metavar='TYPE', action='append', default=[], choices=tuple(identity.SERVICES),
                          help=_('No endpoint of this type of service, such as cloudwatch.'))
    keystone.add_argument('--user', default=identity.WantedIdentity.user,
                          help=_('Of the service. Default: %(default)s.'))
    keystone.add_argument('--project', default=identity.WantedIdentity.project,
                          help=_('Of this user. Default: %(default)s.'))
    keystone.add_argument('--domain', default=identity.WantedIdentity.stack_domain,
                          help=_('For users inside stacks. Default: %(default)s.'))
    keystone.add_argument('--domain-admin', metavar='USER', default=identity.WantedIdentity.domain_admin,
                          help=_('Its administrator. Default: %(default)s.'))
    keystone.add_argument('--ask', action='store_true', help=_('Ask for passwords instead of generating them.'))
    keystone.add_argument('--output', metavar='FILE', type=Path, help=_(
        'Write the options to a new file with mode 0600 instead of printing them.'))
    keystone.add_argument('--change', action='store_true', help=_('Change URLs and passwords that differ.'))
    keystone.add_argument('--dry-run', action='store_true', help=_('Make nothing; print what would be made.'))


def _endpoint(text: str) -> tuple[str, str, str]:
    """(type of service, interface or '', URL)."""
    name, equals, url = text.partition('=')
    kind, _dot, interface = name.partition('.')
    if kind not in identity.SERVICES or interface not in ('', *identity.INTERFACES) or not equals:
        raise argparse.ArgumentTypeError(_('%(text)s: wanted TYPE[.INTERFACE]=URL with the types %(types)s') % {
            'text': text, 'types': ', '.join(identity.SERVICES)})
    if urlsplit(url).scheme not in ('http', 'https') or not urlsplit(url).netloc:
        raise argparse.ArgumentTypeError(_('%s is not the URL of an HTTP service') % url)
    return kind, interface, url


def run(conf: ConfigOpts) -> int:
    """Run the command and return the exit code. Raises AuthorizationFailure, Error, SystemExit."""
    from keystoneauth1 import exceptions
    command = conf.command
    cloud = _cloud(command.os_cloud)
    region = command.region or cloud.config.get('region_name') or 'RegionOne'
    endpoints = _endpoints(conf)
    if not endpoints and set(command.without) != set(identity.SERVICES):
        print(_('Wanted is --host or --url, or --without of all types of services.'), file=sys.stderr)
        return 2
    if command.output and not command.dry_run:
        _check_new(command.output)
    try:
        keystone = Keystone(cloud)
        wanted = identity.WantedIdentity(
            region, None, None, endpoints, command.user, command.project, stack_domain=command.domain,
            domain_admin=command.domain_admin, stack_user_role=_of(conf, 'heat_stack_user_role') or 'heat_stack_user')
        wanted = _with_passwords(conf, wanted, keystone)
        setup = identity.Setup(keystone.call, keystone.logs_in, command.change, command.dry_run)
        try:
            setup.run(wanted)
            if not setup.has_identity(region):
                print(_('warning: Keystone has no endpoint of its own (type identity) in the region %s, so the service '
                        'could not find it with region_name_for_services = %s. Take its region with --region, or make '
                        'endpoints: openstack endpoint create --region %s identity public URL') % (
                            region, region, region), file=sys.stderr)
        finally:                                # after a failure, too: a generated password is known nowhere else
            _print(setup.done, command.dry_run)
            if not command.dry_run:
                _write(identity.sections(wanted, keystone.url), command.output)
    except exceptions.ClientException as error:
        raise SystemExit(_('Keystone: %s') % ' '.join(str(error).split())) from None
    return 1 if any(outcome == identity.DIFFERS for outcome, _what in setup.done) else 0


def _cloud(name: str | None) -> CloudRegion:
    from keystoneauth1 import exceptions as login_errors
    from openstack import config as cloud_config
    from openstack import exceptions
    try:
        return cloud_config.OpenStackConfig().get_one(cloud=name)
    except (exceptions.SDKException, login_errors.ClientException) as error:
        raise exception.AuthorizationFailure(_('The administrator of Keystone is not known (--os-cloud, OS_*): %s')
                                             % ' '.join(str(error).split())) from None


class Keystone:
    """Keystone, asked by its administrator. Methods raise keystoneauth1's errors."""

    def __init__(self, cloud: CloudRegion) -> None:
        self._session = cloud.get_session()
        self._session.timeout = TIMEOUT
        url = str(getattr(self._session.auth, 'auth_url', '') or '')
        if not url:
            raise exception.AuthorizationFailure(_('Nothing says where Keystone is (--os-cloud, OS_AUTH_URL).'))
        self.url = netutils.keystone_v3(url)

    def call(self, method: str, path: str, body: object) -> Any:
        answer = self._session.request(f'{self.url}/{path}', method, json=body,
                                       headers={'Accept': 'application/json'})
        return answer.json() if answer.content else None

    def logs_in(self, user_id: str, _name: str, password: str) -> bool:
        answer = self._session.request(
            f'{self.url}/auth/tokens', 'POST', authenticated=False, raise_exc=False, log=False,
            json={'auth': {'identity': {'methods': ['password'], 'password': {
                'user': {'id': user_id, 'password': password}}}}})
        return bool(answer.status_code == 201)

    def has_user(self, name: str, domain_id: str) -> bool:
        return bool(self.call('GET', f'users?name={quote(name)}&domain_id={domain_id}', None)['users'])

    def domain_id(self, name: str) -> str | None:
        found = self.call('GET', f'domains?name={quote(name)}', None)['domains']
        return str(found[0]['id']) if found else None


# --- what is wanted ---------------------------------------------------------------------------------------

def _of(conf: ConfigOpts, name: str, group: str | None = None) -> str | None:
    """Return an option that the files set; None if it is unset or not registered."""
    found = getattr(conf if group is None else conf[group], name, None)
    return str(found) if found else None


def _endpoints(conf: ConfigOpts) -> dict[str, dict[str, str]]:
    command = conf.command
    found: dict[str, dict[str, str]] = {}
    if command.api_host:        # `host` is an option of the service
        groups = {'orchestration': 'heat_api', 'cloudformation': 'heat_api_cfn', 'cloudwatch': 'heat_api_cloudwatch'}
        ports = {kind: conf[group].bind_port for kind, group in groups.items()}
        scheme = 'https' if conf.heat_api.cert_file else 'http'
        for kind, url in identity.urls(scheme, command.api_host, ports).items():
            found[kind] = dict.fromkeys(identity.INTERFACES, url)
    for kind, interface, url in sorted(command.url, key=lambda each: each[1]):      # those of one interface last
        found.setdefault(kind, {}).update(dict.fromkeys([interface] if interface else identity.INTERFACES, url))
    return {kind: urls for kind, urls in found.items() if kind not in command.without}


def _with_passwords(conf: ConfigOpts, wanted: identity.WantedIdentity, keystone: Keystone) -> identity.WantedIdentity:
    """From the environment, the configuration, the terminal; else generated for a user that is to be made."""
    from keystoneauth1 import loading
    loading.register_auth_conf_options(conf, 'keystone_authtoken')
    if conf.keystone_authtoken.auth_type == 'password':
        conf.register_opts(loading.get_auth_plugin_conf_options('password'), group='keystone_authtoken')
    configured = _of(conf, 'password', 'keystone_authtoken') if _of(
        conf, 'username', 'keystone_authtoken') == wanted.user else None
    domain_configured = conf.stack_domain_admin_password if conf.stack_domain_admin == wanted.domain_admin else None

    def password(variable: str, given: str | None, user: str, domain_id: str | None) -> str | None:
        found = os.environ.get(variable) or given
        if found or (domain_id is not None and keystone.has_user(user, domain_id)):
            return found
        if conf.command.ask and not conf.command.dry_run:
            typed = getpass.getpass(_('Password for the new user %s: ') % user)
            if not typed:
                raise SystemExit(_('A password is needed.'))
            return typed
        return None if conf.command.dry_run else secrets.token_urlsafe(24)

    return replace(wanted, password=password(SERVICE_VARIABLE, configured, wanted.user, wanted.service_domain),
                   domain_admin_password=password(DOMAIN_VARIABLE, domain_configured, wanted.domain_admin,
                                                  keystone.domain_id(wanted.stack_domain)))


# --- what is printed --------------------------------------------------------------------------------------

def _print(done: Iterable[tuple[str, str]], dry_run: bool) -> None:
    outcomes = set()
    for outcome, what in done:
        print(f'{WORDS[outcome][dry_run]:<12} {what}', file=sys.stderr)
        outcomes.add(outcome)
    if identity.DIFFERS in outcomes:
        print(_('What differs was left as it is; --change changes it.'), file=sys.stderr)
    elif outcomes <= {identity.THERE}:
        print(_('Everything is there: nothing was changed.'), file=sys.stderr)


def _check_new(output: Path) -> None:
    """Before anything is made. Raises SystemExit."""
    if output.exists():
        raise SystemExit(_('%s exists: --output takes the name of a new file.') % output)
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise SystemExit(_('%s cannot be written: --output takes another file.') % output)


def _write(sections: Mapping[str, Mapping[str, str]], output: Path | None) -> None:
    lines = []
    for section, options in sections.items():
        lines.append(f'[{section}]')
        lines += [f'{name} = {value.replace("$", "$$")}' if value else
                  _('# %s: that of the existing user, which was left as it is') % name
                  for name, value in options.items()]
        lines.append('')
    text = '\n'.join(lines)
    if output is None:
        print(text, end='')
        return
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, 'w') as file:
        file.write(text)
    print(_('The options were written to %s.') % output, file=sys.stderr)
