"""Makes users, roles, the domain for users inside stacks, and endpoints in Keystone; idempotent.

Imports the standard library only. The caller hands in how Keystone is asked, and prints what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

Sections = dict[str, dict[str, str]]
"""A configuration: section -> option -> value."""

Call = Callable[[str, str, object], Any]
"""(method, path below /v3, body or None) -> the JSON of the answer, or None. Raises for every error of Keystone."""

LogIn = Callable[[str, str, str], bool]
"""(id of a user, name for messages, password) -> whether the user can log in with it."""

MADE, CHANGED, DIFFERS, THERE = 'made', 'changed', 'differs', 'there'
ROLES = ('admin', 'member', 'reader', 'service')
INTERFACES = ('public', 'internal', 'admin')
# Type of the service -> (name, description, port, path of the URL).
SERVICES: Mapping[str, tuple[str, str, int, str]] = {
    'orchestration': ('heatlite', 'Orchestration', 8004, '/v1/%(project_id)s'),
    'cloudformation': ('heatlite-cfn', 'Orchestration, CloudFormation API', 8000, '/v1'),
    'cloudwatch': ('heatlite-cloudwatch', 'Orchestration, CloudWatch API', 8003, '/v1'),
}


@dataclass(frozen=True)
class WantedIdentity:
    """`password`, `domain_admin_password`: of the two users; None: that of an existing user is left alone.

    `endpoints`: type of service -> interface -> URL. `service_domain`: id of the domain of the service user and of its
    project. `service_role`: the role that tokens of other services must have; None: none.
    """

    region: str
    password: str | None
    domain_admin_password: str | None
    endpoints: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    user: str = 'heatlite'
    project: str = 'service'
    service_domain: str = 'default'
    roles: Sequence[str] = ('admin', 'service')
    service_role: str | None = 'service'
    stack_domain: str = 'heatlite'
    domain_admin: str = 'heatlite_domain_admin'
    stack_user_role: str = 'heat_stack_user'


def urls(scheme: str, host: str, ports: Mapping[str, int]) -> dict[str, str]:
    """Type of service -> URL for its endpoints, all on one host. `ports`: where they are not the usual ones."""
    return {kind: f'{scheme}://{host}:{ports.get(kind, port)}{path}'
            for kind, (_name, _description, port, path) in SERVICES.items()}


def sections(wanted: WantedIdentity, url: str, hidden: str = '') -> Sections:
    """Return the options with which the service uses what was made. `url`: of Keystone. `hidden`: in the place of a
    password that is not known."""
    password = hidden if wanted.password is None else wanted.password
    domain_password = hidden if wanted.domain_admin_password is None else wanted.domain_admin_password
    login = {'auth_type': 'password', 'auth_url': url, 'username': wanted.user, 'password': password,
             'user_domain_id': wanted.service_domain}
    required = {'service_token_roles': wanted.service_role, 'service_token_roles_required': 'true'} \
        if wanted.service_role else {}
    return {
        'DEFAULT': {
            'stack_user_domain_name': wanted.stack_domain, 'stack_domain_admin': wanted.domain_admin,
            'stack_domain_admin_password': domain_password, 'heat_stack_user_role': wanted.stack_user_role,
            'region_name_for_services': wanted.region},
        'clients_keystone': {'auth_uri': url},
        'ec2authtoken': {'auth_uri': url},
        'trustee': login,
        'keystone_authtoken': {**login, 'project_name': wanted.project, 'project_domain_id': wanted.service_domain,
                               'www_authenticate_uri': url, **required}}


@dataclass
class Setup:
    """Looks for each object and makes those that are missing.

    `log_in`: tells whether the password of an existing user is the wanted one; None: it is not compared. `may_change`:
    what differs is changed; otherwise it is reported. `dry_run`: nothing is made or changed, and what needs the id of
    something that is missing is reported as made. `done`: (one of MADE, CHANGED, DIFFERS, THERE, what) in order.
    """

    call: Call
    log_in: LogIn | None = None
    may_change: bool = False
    dry_run: bool = False
    done: list[tuple[str, str]] = field(default_factory=list)

    def run(self, wanted: WantedIdentity) -> None:
        roles = {name: self.one('role', name=name)
                 for name in dict.fromkeys((*ROLES, *wanted.roles, wanted.stack_user_role))}
        project = self.one('project', name=wanted.project, domain_id=wanted.service_domain)
        user = self.user(wanted.user, wanted.service_domain, wanted.password)
        for name in wanted.roles:
            self.grant('project', project, wanted.project, user, wanted.user, roles[name], name)
        domain = self.one('domain', name=wanted.stack_domain)
        admin = self.user(wanted.domain_admin, domain, wanted.domain_admin_password)
        self.grant('domain', domain, wanted.stack_domain, admin, wanted.domain_admin, roles['admin'], 'admin')
        if wanted.endpoints:
            self.region(wanted.region)
        for kind, by_interface in wanted.endpoints.items():
            self.endpoints(kind, wanted.region, by_interface)

    # --- objects ----------------------------------------------------------------------------------------

    def one(self, kind: str, **fields: str) -> str | None:
        """Return the id of the only `kind` with these fields; None where it would be made."""
        query = '&'.join(f'{name}={quote(value)}' for name, value in fields.items())
        found = self.call('GET', f'{kind}s?{query}', None)[f'{kind}s']
        if found:
            return self._there(f'{kind} {fields["name"]}', found[0]['id'])
        return self._make(kind, f'{kind} {fields["name"]}', fields)

    def user(self, name: str, domain: str | None, password: str | None) -> str | None:
        """Return the id of a user of a domain. A new one gets the password, which must not be None then."""
        query = f'users?name={quote(name)}&domain_id={domain}'
        found = [] if domain is None else self.call('GET', query, None)['users']
        if not found:
            return self._make('user', f'user {name}', {'name': name, 'domain_id': domain, 'password': password})
        identity = str(found[0]['id'])
        if password is None or self.log_in is None or self.log_in(identity, name, password):
            return self._there(f'user {name}', identity)
        self._differ(f'password of user {name}', f'users/{identity}', {'user': {'password': password}})
        return identity

    def grant(self, kind: str, scope: str | None, scope_name: str, user: str | None, user_name: str,
              role: str | None, role_name: str) -> None:
        """Give a user a role in a project or a domain (`kind`)."""
        what = f'role {role_name} of user {user_name} in {kind} {scope_name}'
        if scope and user and role:
            held = self.call('GET', f'role_assignments?user.id={user}&scope.{kind}.id={scope}&role.id={role}', None)
            if held['role_assignments']:
                self.done.append((THERE, what))
                return
            if not self.dry_run:
                self.call('PUT', f'{kind}s/{scope}/users/{user}/roles/{role}', None)
        self.done.append((MADE, what))

    def region(self, name: str) -> None:
        if any(each['id'] == name for each in self.call('GET', 'regions', None)['regions']):
            self.done.append((THERE, f'region {name}'))
            return
        if not self.dry_run:
            self.call('POST', 'regions', {'region': {'id': name}})
        self.done.append((MADE, f'region {name}'))

    def endpoints(self, kind: str, region: str, by_interface: Mapping[str, str]) -> None:
        """Make sure of the service of a type with its endpoints in one region. A service of another name is used,
        too."""
        name, description, _port, _path = SERVICES[kind]
        found = self.call('GET', f'services?type={kind}', None)['services']
        service = self._there(f'service {kind}', found[0]['id']) if found else self._make(
            'service', f'service {kind}', {'name': name, 'type': kind, 'description': description})
        known = [] if service is None else self.call(
            'GET', f'endpoints?service_id={service}&region_id={quote(region)}', None)['endpoints']
        for interface, url in by_interface.items():
            what = f'{interface} endpoint of {kind} in {region}: {url}'
            present = [each for each in known if each['interface'] == interface]
            if not present:
                self._make('endpoint', what, {
                    'service_id': service, 'interface': interface, 'url': url, 'region_id': region})
            elif present[0]['url'] == url:
                self.done.append((THERE, what))
            else:
                self._differ(f'{what}, now {present[0]["url"]}', f'endpoints/{present[0]["id"]}',
                             {'endpoint': {'url': url}})

    def has_identity(self, region: str) -> bool:
        """Whether Keystone itself has an endpoint in a region: clients of the service look for it there."""
        return any(self.call('GET', f'endpoints?service_id={each["id"]}&region_id={quote(region)}', None)['endpoints']
                   for each in self.call('GET', 'services?type=identity', None)['services'])

    # --- steps ------------------------------------------------------------------------------------------

    def _there(self, what: str, identity: object) -> str:
        self.done.append((THERE, what))
        return str(identity)

    def _make(self, kind: str, what: str, fields: Mapping[str, object]) -> str | None:
        made = None
        if not self.dry_run:
            made = str(self.call('POST', f'{kind}s', {kind: dict(fields)})[kind]['id'])
        self.done.append((MADE, what))
        return made

    def _differ(self, what: str, path: str, body: object) -> None:
        if self.may_change and not self.dry_run:
            self.call('PATCH', path, body)
        self.done.append((CHANGED if self.may_change else DIFFERS, what))
