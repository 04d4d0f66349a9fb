"""What stands in for a password: trusts, application credentials, EC2 keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, NotFound
from cloudsim.service import Route
from cloudsim.services.identity.people import Linked
from cloudsim.services.identity.tokens import Scope
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.identity import IdentityService


def is_self_or_admin(call: Call, *users: str | None) -> bool:
    return call.is_admin or call.identity is None or call.identity.user_id in users


class Credentials(Linked):
    """Blobs of any type. One of type ec2 has the hash of its access key as id, and works as an EC2 key."""

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        if thing['type'] != 'ec2':
            return
        try:
            blob = json.loads(thing['blob'])
            access = blob['access']
        except (ValueError, KeyError, TypeError):
            raise BadRequest('Invalid blob in credential.') from None
        if not thing['project_id']:
            raise BadRequest('Invalid user / project: a credential of type ec2 needs both.')
        thing.id = thing.data['id'] = hashlib.sha256(access.encode()).hexdigest()

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        return [each for each in super().candidates(call, parent) if is_self_or_admin(call, each['user_id'])]

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return is_self_or_admin(call, thing['user_id'])


class Trusts(Linked):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        if call.identity is not None and call.identity.user_id != data['trustor_user_id']:
            raise Forbidden('The authenticated user should match the trustor')
        own = self.service.collection('roles')
        if data['project_id']:
            project = self.service.collection('projects').get(call, data['project_id'])
            trustor = self.service.collection('users').table.get(data['trustor_user_id'])
            held = self.service.tokens.roles(trustor, Scope(project=project))
        else:
            held = []
        wanted = []
        for said in data['roles']:
            role = next((each for each in held if each.id == said.get('id') or each['name'] == said.get('name')), None)
            if role is None:
                raise NotFound('Role', str(said.get('id') or said.get('name')))
            wanted.append(own.view(call, role))
        data['roles'] = wanted
        data.setdefault('redelegation_count', 0)

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return is_self_or_admin(call, thing['trustor_user_id'], thing['trustee_user_id'])

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        return [each for each in super().candidates(call, parent) if self.is_visible(call, each)]

    def leaving(self, call: Call, thing: Thing) -> None:
        if not is_self_or_admin(call, thing['trustor_user_id']):
            raise Forbidden


class ApplicationCredentials(Linked):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data, user_id = thing.data, thing.hidden['parent']
        if call.identity is None or call.identity.user_id != user_id:
            raise Forbidden
        thing.hidden['secret'] = data.pop('secret', None) or self.cloud.uuid() + self.cloud.uuid()
        thing.hidden['tell'] = True
        data['project_id'] = call.project_id
        user = self.service.collection('users').table.get(user_id)
        project = self.service.collection('projects').table.get(call.project_id or '')
        held = self.service.tokens.roles(user, Scope(project=project))
        said = {each.get('id') or each.get('name') for each in data['roles']}
        data['roles'] = [{'id': each.id, 'name': each['name'], 'domain_id': None} for each in held
                         if not said or each.id in said or each['name'] in said]

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = super().view(call, thing)
        if thing.hidden.pop('tell', False):
            shown['secret'] = thing.hidden['secret']
        return shown

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return is_self_or_admin(call, thing.hidden['parent'])

    def check_unique(self, thing: Thing, given: dict[str, Any]) -> None:
        for other in self.table.find('parent', thing.hidden['parent']):
            if other is not thing and other.get('name') == given.get('name'):
                raise Conflict(f'Conflict occurred attempting to store application_credential - Duplicate entry '
                               f'found with name {given["name"]}.')


class Ec2Credentials(Linked):
    def do_create(self, call: Call, *parents: str) -> Any:
        thing = self.make(call, {'tenant_id': call.json.get('tenant_id') or call.project_id}, parents[-1])
        return 201, {'credential': self.view(call, thing)}

    def new_id(self, data: dict[str, Any]) -> str:
        return self.cloud.uuid().replace('-', '')

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        self.service.collection('users').get(call, thing.hidden['parent'])
        if not is_self_or_admin(call, thing.hidden['parent']):
            raise Forbidden
        thing.data['secret'] = self.cloud.uuid().replace('-', '')
        thing.data['user_id'] = thing.hidden['parent']

    def is_visible(self, call: Call, thing: Thing) -> bool:
        return is_self_or_admin(call, thing.hidden['parent'])

    def by_access(self, access: str) -> tuple[str, str, str] | None:
        """Secret, user, project of an access key, also of one that was made as a plain credential."""
        found = self.table.get(access)
        if found is not None:
            return found['secret'], found['user_id'], found['tenant_id']
        plain = self.service.collection('credentials').table.get(hashlib.sha256(access.encode()).hexdigest())
        if plain is None or plain['type'] != 'ec2':
            return None
        return json.loads(plain['blob'])['secret'], plain['user_id'], plain['project_id']


def routes(service: IdentityService) -> Iterable[Route]:
    def trust_roles(call: Call, trust_id: str) -> Any:
        return 200, {'roles': service.collection('trusts').get(call, trust_id)['roles'], 'links': {}}

    yield 'GET', '/v3/OS-TRUST/trusts/{t}/roles', trust_roles
