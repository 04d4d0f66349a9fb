"""Checks of Keystone: users, roles, the domain of users inside stacks, trusts and signatures."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Protocol

from keystoneauth1 import exceptions
from keystoneauth1 import session as keystone_session

from heatlite.cmd import check_config
from heatlite.cmd.doctor.checks import WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.database import clocks_differ, not_sqlite, outside
from heatlite.cmd.doctor.site import Site
from heatlite.common import config, settings
from heatlite.common.i18n import _

# Options with the URL of a Keystone; each is used for something else.
URLS = (('keystone_authtoken', 'www_authenticate_uri'), ('keystone_authtoken', 'auth_url'), ('trustee', 'auth_url'),
        ('clients_keystone', 'auth_uri'), ('ec2authtoken', 'auth_uri'))
VALIDATING = ('admin', 'service')               # roles that may validate tokens of others, by Keystone's own rules
_VERSION = re.compile(r'/v\d[\d.]*/?$')
SETUP = _('heatlite-manage setup keystone makes what is missing.')


def unused(site: Site) -> str:
    if site.conf.paste_deploy.flavor == 'noauth':
        return _('[paste_deploy] flavor is noauth')
    if not_sqlite(site) and not site.conf.keystone_authtoken.auth_type:
        return _('[keystone_authtoken] auth_type is not set')
    return ''


def urls(site: Site) -> dict[str, list[str]]:
    """URL -> the options that name it."""
    found: dict[str, list[str]] = {}
    for group, name in URLS:
        value = getattr(site.conf[group], name, None)       # auth_url is an option of some auth_types
        if value:
            found.setdefault(value, []).append(f'[{group}] {name}')
    return found


def reachable(site: Site) -> Iterator[DoctorFinding]:
    unread = list(_unread(site))
    yield from unread
    if not urls(site) and not unread:
        yield DoctorFinding(_('An option names the URL of Keystone.'), _('None does.'),
                            _('Set [keystone_authtoken] auth_url and www_authenticate_uri.'))
    asking = keystone_session.Session(timeout=site.timeout, **config.get_ssl_options('keystone'))
    for url, names in urls(site).items():
        expected = _('Keystone answers at the URL of %s, with version 3.') % ', '.join(names)
        fix = _('Start Keystone there, or correct %s.') % ', '.join(names)
        if not settings.is_http_url(url):
            yield DoctorFinding(expected, _('%s does not begin with http:// or https:// and a host.') % url, _(
                'Correct %s, such as http://HOST:5000/v3.') % ', '.join(names))
            continue
        place = _VERSION.sub('', url.rstrip('/')) + '/v3'
        try:
            answer = asking.get(place, authenticated=False, raise_exc=False, connect_retries=0)
            version = answer.json()['version']['id']
        except (ValueError, KeyError, TypeError):   # before OSError: that of a body which is no JSON is both
            yield DoctorFinding(expected, _('%(url)s answers %(status)d without a version.')
                                % {'url': place, 'status': answer.status_code}, fix)
        except (exceptions.ClientException, OSError) as error:
            yield DoctorFinding(expected, first_line(error), fix)
        else:
            if not str(version).startswith('v3'):
                yield DoctorFinding(expected, _('It has version %s.') % version, fix)


def _unread(site: Site) -> Iterator[DoctorFinding]:
    for group in ('keystone_authtoken', 'trustee'):
        place = check_config.unread_url(site.conf, group)
        if place:
            yield DoctorFinding(_('[%s] auth_type says how to log in at auth_url.') % group,
                                _('%s[%s] auth_url is never read: auth_type is not set.') % (place, group),
                                _('Set [%s] auth_type = password.') % group)


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# --- users of the service ---------------------------------------------------------------------------------

class Access(Protocol):
    """What Keystone's v3 says of every token, with the user who has it."""

    user_id: str
    username: str
    project_id: str | None
    project_name: str | None
    domain_id: str | None
    role_names: list[str]
    issued: datetime


def access_of(session: keystone_session.Session) -> Access:
    """Log in. Raises keystoneauth1's errors."""
    # All plug-ins that are used have it, though their base has not.
    log_in: Callable[[keystone_session.Session], Access] = getattr(session.auth, 'get_access')  # noqa: B009
    return log_in(session)


def login_problem(session: keystone_session.Session, expected: str, group: str) -> Iterator[DoctorFinding]:
    """`group`: with the options of the login, for the fix."""
    try:
        access_of(session)
    except exceptions.Unauthorized as error:
        yield DoctorFinding(expected, first_line(error), _(
            'Correct user, password, project and domains in %(group)s, or let Keystone have such a user: %(setup)s')
            % {'group': group, 'setup': SETUP})
    except exceptions.ClientException as error:
        yield DoctorFinding(expected, f'{type(error).__name__}: {first_line(error)}',
                            _('Correct the options of %s.') % group)


def validating_user(site: Site) -> Iterator[DoctorFinding]:
    expected = _('The user of [keystone_authtoken] logs in, in a project.')
    try:
        session = site.authtoken
    except (ValueError, exceptions.ClientException) as error:
        yield DoctorFinding(expected, first_line(error), _(
            'Set auth_type = password, auth_url, username, password, user_domain_id, project_name and '
            'project_domain_id in [keystone_authtoken]; heatlite-manage setup keystone prints them.'))
        return
    yield from login_problem(session, expected, '[keystone_authtoken]')


def validates(site: Site) -> Iterator[DoctorFinding]:
    """With the token of another user, where there is one: each user may validate his own."""
    access = access_of(site.authtoken)
    expected = _('The user of [keystone_authtoken] may validate tokens: it has the role "service" or "admin" in its '
                 'project.')
    fix = _('openstack role add --user %(user)s --project %(project)s service; %(setup)s') % {
        'user': access.username, 'project': access.project_name or 'service', 'setup': SETUP}
    if access.project_id is None:
        yield DoctorFinding(expected, _('It logs in without a project.'),
                            _('Set [keystone_authtoken] project_name and project_domain_id.'))
        return
    other = _other_token(site, access.user_id)
    if other is None:
        if not set(access.role_names) & set(VALIDATING):
            yield DoctorFinding(expected, _roles(access.role_names), fix)
        return
    try:
        answer = site.authtoken.get(f'{site.keystone_url}/auth/tokens', headers={'X-Subject-Token': other},
                                    raise_exc=False)
    except exceptions.ClientException as error:
        yield DoctorFinding(expected, first_line(error), fix)
        return
    if answer.status_code in (401, 403):
        yield DoctorFinding(expected, _roles(access.role_names), fix)


def _roles(names: Sequence[str]) -> str:
    return _('Its roles are: %s.') % (', '.join(sorted(names)) or _('none'))


def _other_token(site: Site, user_id: str) -> str | None:
    for name in ('domain_admin', 'service'):
        try:
            session = getattr(site, name)
            access = session.auth.get_access(session)
        except Exception:                       # reported by the check of that user
            continue
        if access.user_id != user_id:
            return str(access.auth_token)
    return None


def trustee(site: Site) -> Iterator[DoctorFinding]:
    group = '[trustee]' if site.conf.trustee.auth_type else '[keystone_authtoken]'
    expected = _('The user of %s, who acts for the users of stacks, logs in.') % group
    try:
        session = site.service
    except Exception as error:                  # AuthorizationFailure, or what a plug-in of keystoneauth lacks
        yield DoctorFinding(expected, first_line(error), _(
            'Set auth_type = password, auth_url, username, password and user_domain_id in [trustee].'))
        return
    yield from login_problem(session, expected, group)


def trusts(site: Site) -> Iterator[DoctorFinding]:
    session = site.service
    answer = session.get(f'{site.keystone_url}/OS-TRUST/trusts', raise_exc=False, params={
        'trustee_user_id': session.get_user_id()})
    if answer.status_code == 404:
        yield DoctorFinding(_('Keystone has trusts, as [DEFAULT] deferred_auth_method = trusts needs them.'),
                            _('It answers 404 to /OS-TRUST/trusts.'),
                            _('Enable trusts ([trust] in keystone.conf), or set deferred_auth_method = password.'))


def no_trusts(site: Site) -> str:
    return unused(site) or ('' if site.conf.deferred_auth_method == 'trusts' else _('deferred_auth_method is password'))


def signatures(site: Site) -> Iterator[DoctorFinding]:
    """Ask Keystone to verify a signature by a key that does not exist: a user without the right gets 403."""
    base = site.conf.ec2authtoken.auth_uri or site.keystone_url
    url = f'{_VERSION.sub("", base.rstrip("/"))}/v3/ec2tokens'
    answer = site.authtoken.post(url, raise_exc=False, json={'ec2Credentials': {
        'access': 'heatlite-doctor', 'signature': 'none', 'host': 'localhost', 'verb': 'GET', 'path': '/',
        'params': {}}})
    if answer.status_code == 403:
        yield DoctorFinding(
            _('The user of [keystone_authtoken] may let Keystone verify signatures, for wait conditions and the '
              'CloudFormation API.'), _('Keystone refuses: it needs the role "service".'),
            _('openstack role add --user USER --project PROJECT service; %s') % SETUP)


def clock(site: Site) -> Iterator[DoctorFinding]:
    """By the time at which Keystone says that it has issued a new token, in whole seconds."""
    site.authtoken.invalidate()
    before = site.now()
    issued = access_of(site.authtoken).issued
    yield from clocks_differ(outside(issued.timestamp(), before, site.now(), 1.0), _('Keystone'))


# --- users inside stacks ----------------------------------------------------------------------------------

DOMAIN_OPTIONS = ('stack_domain_admin', 'stack_domain_admin_password')


def domain(site: Site) -> Iterator[DoctorFinding]:
    conf = site.conf
    expected = _('The administrator of the domain of users inside stacks logs in, to that domain.')
    missing = [name for name in DOMAIN_OPTIONS if not conf[name]]
    if not (conf.stack_user_domain_id or conf.stack_user_domain_name):
        missing.insert(0, 'stack_user_domain_name')
    if missing:
        yield DoctorFinding(
            expected, _('Not set: %s. Users inside stacks are made in the project of the user, who must be an '
                        'administrator then.') % ', '.join(missing),
            _('Set these options of [DEFAULT]; heatlite-manage setup keystone makes the domain and prints them.'),
            WARNING)
        return
    yield from login_problem(site.domain_admin, expected, _(
        '[DEFAULT] stack_user_domain_name, stack_domain_admin and stack_domain_admin_password'))


def no_domain(site: Site) -> str:
    conf = site.conf
    named = conf.stack_user_domain_id or conf.stack_user_domain_name
    return unused(site) or (
        '' if named and all(conf[name] for name in DOMAIN_OPTIONS) else _('no domain is configured'))


def domain_rights(site: Site) -> Iterator[DoctorFinding]:
    """Ask to create the user again that asks: Keystone checks the right first, and finds then that it exists."""
    session = site.domain_admin
    access = access_of(session)
    answer = session.post(f'{site.keystone_url}/users', raise_exc=False, json={'user': {
        'name': site.conf.stack_domain_admin, 'domain_id': access.domain_id}})
    if answer.status_code in (401, 403):
        yield DoctorFinding(
            _('The administrator of the domain of users inside stacks may create users and projects there.'),
            _roles(access.role_names),
            _('openstack role add --user %(user)s --domain %(domain)s admin; %(setup)s')
            % {'user': site.conf.stack_domain_admin, 'domain': access.domain_id, 'setup': SETUP})


def role_exists(site: Site, name: str) -> bool:
    answer = site.domain_admin.get(f'{site.keystone_url}/roles?name={urllib.parse.quote(name)}')
    return len(answer.json()['roles']) == 1


def stack_role(site: Site) -> Iterator[DoctorFinding]:
    name = site.conf.heat_stack_user_role
    if not role_exists(site, name):
        yield DoctorFinding(_('Keystone has the role of [DEFAULT] heat_stack_user_role.'),
                            _('There is no role "%s".') % name,
                            _('openstack role create %(name)s; %(setup)s') % {'name': name, 'setup': SETUP})


def delegated_roles(site: Site) -> Iterator[DoctorFinding]:
    for name in site.conf.trusts_delegated_roles:
        if not role_exists(site, name):
            yield DoctorFinding(_('Keystone has all roles of [DEFAULT] trusts_delegated_roles.'),
                                _('There is no role "%s".') % name,
                                _('Correct trusts_delegated_roles, or: openstack role create %s') % name)


def no_delegated_roles(site: Site) -> str:
    return no_trusts(site) or no_domain(site) or (
        '' if site.conf.trusts_delegated_roles else _('trusts_delegated_roles is not set: trusts delegate all roles'))


CHECKS = (
    Check('keystone-url', _('Keystone answers at each configured URL'), reachable, unused=unused),
    Check('keystone-user', _('the user that validates tokens logs in'), validating_user, ('keystone-url',), unused),
    Check('keystone-clock', _('the clock of Keystone is that of this host'), clock, ('keystone-user',), unused),
    Check('keystone-trustee', _('the user that acts for others logs in'), trustee, ('keystone-url',), unused),
    Check('keystone-trusts', _('Keystone has trusts'), trusts, ('keystone-trustee',), no_trusts),
    Check('keystone-domain', _('the administrator of the domain of stacks logs in'), domain, ('keystone-url',), unused),
    Check('keystone-domain-rights', _('it may create users there (by a request that ends without a change)'),
          domain_rights, ('keystone-domain',), no_domain),
    Check('keystone-stack-role', _('heat_stack_user_role exists'), stack_role, ('keystone-domain-rights',), no_domain),
    Check('keystone-delegated-roles', _('trusts_delegated_roles exist'), delegated_roles,
          ('keystone-domain-rights',), no_delegated_roles),
    Check('keystone-roles', _('tokens can be validated'), validates, ('keystone-user', 'keystone-trustee'), unused),
    Check('keystone-signatures', _('signatures can be verified'), signatures, ('keystone-roles',), unused),
)
