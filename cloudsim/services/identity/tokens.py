"""Tokens: how to get one (password, token, application credential, trust), what it says, how it ends."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Forbidden, Identity, NotFound, Problem, Reply
from cloudsim.store import Thing
from cloudsim.versions import opened

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService

STAMP = '%Y-%m-%dT%H:%M:%S.%fZ'


@dataclass(frozen=True)
class Scope:
    """What a token is good for: a project, a domain, the system, or nothing."""

    project: Thing | None = None
    domain: Thing | None = None
    system: bool = False
    trust: Thing | None = None


@dataclass(frozen=True)
class Token:
    identity: Identity
    user: Thing
    scope: Scope
    methods: tuple[str, ...]
    issued_at: str
    expires_at: str
    ends: float                         # seconds since 1970
    roles: tuple[Thing, ...]
    limited_to: Thing | None            # the application credential it was got with


def refused(message: str = 'The request you have made requires authentication.') -> Problem:
    return Problem(401, message, 'Unauthorized')


class Tokens:
    def __init__(self, service: IdentityService) -> None:
        self.service = service
        self.living: dict[str, Token] = {}

    def routes(self) -> list[tuple[str, str, Any]]:
        return [('POST', '/v3/auth/tokens', opened(lambda call: self.issue(call))),
                ('GET', '/v3/auth/tokens', self.show),
                ('DELETE', '/v3/auth/tokens', self.revoke),
                ('GET', '/v3/auth/catalog', self.show_catalog),
                ('GET', '/v3/auth/projects', self.own_projects),
                ('GET', '/v3/auth/domains', self.own_domains),
                ('GET', '/v3/auth/system', lambda call: (200, {'system': []}))]

    # HTTP.

    def issue(self, call: Call) -> Reply:
        said = call.entity('auth')
        methods = said.get('identity', {}).get('methods') or []
        user: Thing | None = None
        limited: Thing | None = None
        for method in methods:
            proof = said['identity'].get(method)
            if not isinstance(proof, dict) or method not in PROOFS:
                raise refused()
            found, credential = PROOFS[method](self, proof)
            if user is not None and found is not user:
                raise refused()
            user, limited = found, credential or limited
        if user is None:
            raise refused()
        token = self.make(user, self.scope(said.get('scope'), user, limited), tuple(methods), limited)
        shown = self.view(token, 'nocatalog' not in call.query)
        return Reply(201, shown, {'X-Subject-Token': token.identity.token, 'Vary': 'X-Auth-Token'})

    def show(self, call: Call) -> Reply:
        token = self.subject(call)
        return Reply(200, self.view(token, 'nocatalog' not in call.query),
                     {'X-Subject-Token': token.identity.token, 'Vary': 'X-Auth-Token'})

    def revoke(self, call: Call) -> Reply:
        del self.living[self.subject(call).identity.token]
        return Reply(204)

    def subject(self, call: Call) -> Token:
        said = call.header('X-Subject-Token')
        token = self.valid(said)
        if token is None:
            raise NotFound('token', '')
        return token

    def show_catalog(self, call: Call) -> Any:
        assert call.identity is not None
        return 200, {'catalog': self.service.catalog.of(call.project_id), 'links': {}}

    def own_projects(self, call: Call) -> Any:
        assert call.identity is not None
        found = self.service.assignments.projects_of(call.identity.user_id)
        return 200, {'projects': [each.data for each in found], 'links': {}}

    def own_domains(self, call: Call) -> Any:
        assert call.identity is not None
        found = self.service.assignments.domains_of(call.identity.user_id)
        return 200, {'domains': [each.data for each in found], 'links': {}}

    # Their life.

    def identity(self, said: str | None) -> Identity | None:
        token = self.valid(said)
        return None if token is None else token.identity

    def valid(self, said: str | None) -> Token | None:
        token = self.living.get(said) if said else None
        if token is None or said is None:
            return None
        if token.ends < self.service.cloud.clock.now() or not token.user.alive \
                or (token.scope.trust is not None and not token.scope.trust.alive) \
                or (token.limited_to is not None and not token.limited_to.alive) \
                or (token.scope.project is not None and not token.scope.project.alive):
            del self.living[said]
            return None
        return token

    def make(self, user: Thing, scope: Scope, methods: tuple[str, ...], limited: Thing | None = None) -> Token:
        """A new token. Raises Problem (401, 403) when the user has no role there."""
        cloud = self.service.cloud
        acting = user
        if scope.trust is not None:
            trust = scope.trust
            if trust['trustee_user_id'] != user.id:
                raise Forbidden('The authenticated user is not the trustee of the trust.')
            trustor = self.service.collection('users').table.get(trust['trustor_user_id'])
            if trustor is None:
                raise Forbidden('Trustor is gone.')
            wanted = {each['id'] for each in trust['roles']}
            roles = [each for each in self.roles(trustor, scope) if each.id in wanted]
            if {each.id for each in roles} != wanted:
                raise Forbidden("The trustor does not have the trust's roles any more.")
            if trust['impersonation']:
                acting = trustor
        else:
            roles = self.roles(user, scope)
            if limited is not None:
                wanted = {each['id'] for each in limited['roles']}
                roles = [each for each in roles if each.id in wanted]
        if (scope.project or scope.domain or scope.system) and not roles:
            raise refused()
        number = 'gAAAAA' + cloud.uuid().replace('-', '') + cloud.uuid().replace('-', '')
        identity = Identity(acting.id, scope.project.id if scope.project else None,
                            scope.domain.id if scope.domain else None,
                            frozenset(each['name'] for each in roles), number)
        life = cloud.settings.token_life
        token = Token(identity, acting, scope, methods, cloud.clock.stamp(STAMP), cloud.clock.stamp(STAMP, life),
                      cloud.clock.now() + life, tuple(roles), limited)
        self.living[number] = token
        return token

    def roles(self, user: Thing, scope: Scope) -> list[Thing]:
        assignments = self.service.assignments
        if scope.project is not None:
            return assignments.roles(user.id, f'projects/{scope.project.id}')
        if scope.domain is not None:
            return assignments.roles(user.id, f'domains/{scope.domain.id}')
        return assignments.roles(user.id, 'system/all') if scope.system else []

    def view(self, token: Token, with_catalog: bool) -> dict[str, Any]:
        """The body that says everything about a token."""
        domains = self.service.collection('domains').table

        def named(thing: Thing, **more: Any) -> dict[str, Any]:
            return {'id': thing.id, 'name': thing['name'], **more}

        def domain_of(thing: Thing) -> dict[str, Any]:
            domain = domains.get(thing['domain_id'])
            return named(domain) if domain is not None else {'id': thing['domain_id'], 'name': ''}

        user, scope = token.user, token.scope
        said: dict[str, Any] = {
            'methods': list(token.methods), 'issued_at': token.issued_at, 'expires_at': token.expires_at,
            'user': named(user, domain=domain_of(user), password_expires_at=None),
            'audit_ids': [token.identity.token[6:28]]}
        if scope.project is not None:
            said['project'] = named(scope.project, domain=domain_of(scope.project))
            said['is_domain'] = False
        if scope.domain is not None:
            said['domain'] = named(scope.domain)
        if scope.system:
            said['system'] = {'all': True}
        if scope.trust is not None:
            trust = scope.trust
            said['OS-TRUST:trust'] = {'id': trust.id, 'impersonation': trust['impersonation'],
                                      'trustor_user': {'id': trust['trustor_user_id']},
                                      'trustee_user': {'id': trust['trustee_user_id']}}
        if token.limited_to is not None:
            said['application_credential'] = named(token.limited_to, restricted=not token.limited_to['unrestricted'])
        if token.roles:
            said['roles'] = [named(each) for each in token.roles]
            if with_catalog:
                said['catalog'] = self.service.catalog.of(token.identity.project_id)
        return {'token': said}

    # Who it is, and for what.

    def scope(self, said: Any, user: Thing, limited: Thing | None) -> Scope:
        if limited is not None:
            return Scope(project=self.service.collection('projects').table.get(limited['project_id']))
        match said:
            case 'unscoped':
                return Scope()
            case {'OS-TRUST:trust': {'id': str(id)}}:
                trust = self.service.collection('trusts').table.get(id)
                if trust is None:
                    raise refused()
                return Scope(trust=trust, project=self.service.collection('projects').table.get(trust['project_id']))
            case {'project': dict(wanted)}:
                return Scope(project=self.lookup('projects', wanted))
            case {'domain': dict(wanted)}:
                return Scope(domain=self.lookup('domains', wanted))
            case {'system': _}:
                return Scope(system=True)
        project = self.service.collection('projects').table.get(user.get('default_project_id') or '')
        if project is not None and self.service.assignments.roles(user.id, f'projects/{project.id}'):
            return Scope(project=project)
        return Scope()

    def lookup(self, kind: str, wanted: Any) -> Thing:
        """By id, or by name in a domain. Raises Problem (401), as for everything about logging in."""
        table = self.service.collection(kind).table
        if not isinstance(wanted, dict):
            raise refused()
        if 'id' in wanted:
            found: Thing | None = table.get(str(wanted['id']))
        else:
            named = table.find('name', wanted.get('name'))
            if kind != 'domains':
                domain = self.lookup('domains', wanted.get('domain') or {'id': 'default'}).id
                named = [each for each in named if each['domain_id'] == domain]
            found = named[0] if named else None
        if found is None or not found.get('enabled', True):
            raise refused()
        return found

    def by_password(self, proof: dict[str, Any]) -> tuple[Thing, None]:
        wanted = proof.get('user')
        user = self.lookup('users', wanted)
        assert isinstance(wanted, dict)
        if not same(user.hidden.get('password'), wanted.get('password')):
            raise refused()
        return user, None

    def by_token(self, proof: dict[str, Any]) -> tuple[Thing, Thing | None]:
        token = self.valid(proof.get('id'))
        if token is None:
            raise NotFound('token', '')
        return token.user, token.limited_to

    def by_application_credential(self, proof: dict[str, Any]) -> tuple[Thing, Thing]:
        table = self.service.collection('application_credentials').table
        if 'id' in proof:
            found = table.get(proof['id'])
        else:
            user = self.lookup('users', proof.get('user'))
            found = next((each for each in table.find('name', proof.get('name'))
                          if each.hidden['parent'] == user.id), None)
        if found is None or not same(found.hidden['secret'], proof.get('secret')):
            raise refused()
        return self.lookup('users', {'id': found.hidden['parent']}), found


def same(kept: Any, said: Any) -> bool:
    return isinstance(kept, str) and isinstance(said, str) and hmac.compare_digest(kept.encode(), said.encode())


PROOFS: dict[str, Any] = {'password': Tokens.by_password, 'token': Tokens.by_token,
                          'application_credential': Tokens.by_application_credential}

__all__ = ['BadRequest', 'Scope', 'Token', 'Tokens']
