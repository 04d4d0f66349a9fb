"""What a property is set to that was removed from a template: services refuse null where a field has no such value."""

from __future__ import annotations

import pytest

from cloudsim import service
from heatlite.common import exception
from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import types
from tests.plugins.rest import samples
from tests.plugins.rest.test_every_type import make, stand_ready

KINDS = {kind.path.removeprefix('/v2.0'): kind for kind in service.describe('network').kinds.values()}
NEUTRON = [name for name in sorted(types.files()) if types.description_of(name).path in KINDS]


@pytest.mark.parametrize('name', NEUTRON)
def test_neutron_gets_no_null_that_it_refuses(cloud, bench, name):
    facts, kind = packed.facts(name), KINDS[types.description_of(name).path]
    given = samples.required(name, facts)
    removable = [key for key, body in facts['properties'].items() if body.get('update_allowed')
                 and not samples.hidden(body) and key not in given and body.get('default') is None]
    for key in removable:
        here = make(cloud, bench, name)
        here.definition = here.define({**given, key: samples.another(key, facts['properties'][key], None)})
        made = here.create()
        cloud.things[f'{kind.path.removeprefix("/v2.0")}/{made.resource_id}'].update(cidr='10.0.0.0/24')
        stand_ready(cloud, name, 'update')
        del cloud.requests[:]
        try:
            here.update(given)
        except (exception.UpdateReplace, exception.StackValidationFailed):
            continue
        sent = [body for request in cloud.requests if request.method == 'PUT'
                for body in (request.body or {}).values() if isinstance(body, dict)]
        refused = [field for body in sent for field, value in body.items()
                   if field in kind.fixed or (value is None and not kind.takes_null(field))]
        assert not refused, key


@pytest.mark.parametrize('name, path, limit, other', [
    ('OS::Nova::Quota', '/os-quota-sets/known-project', 'cores', 'ram'),
    ('OS::Cinder::Quota', '/os-quota-sets/known-project', 'volumes', 'snapshots'),
    ('OS::Neutron::Quota', '/quotas/known-project', 'port', 'network'),
    ('OS::Octavia::Quota', '/lbaas/quotas/known-project', 'pool', 'listener')])
def test_a_removed_limit_becomes_the_default(cloud, bench, name, path, limit, other):
    here = bench(name, {'project': 'known-project', limit: 3, other: 4})
    here.create()
    del cloud.requests[:]
    here.update({'project': 'known-project', limit: 3})
    assert [str(each) for each in cloud.requests if each.method != 'GET'] == [f'DELETE {path}', f'PUT {path}']
    assert list(cloud.body(f'PUT {path}').values()) == [{limit: 3}]
    del cloud.requests[:]
    here.update({'project': 'known-project', limit: 5})
    assert [str(each) for each in cloud.requests if each.method != 'GET'] == [f'PUT {path}']


@pytest.mark.parametrize('name, key, value, field, null', [
    ('OS::Keystone::User', 'default_project', 'known-project', 'default_project_id', None),
    ('OS::Keystone::Region', 'description', 'ours', 'description', None),
    ('OS::Octavia::PoolMember', 'tags', ['a'], 'tags', [])])
def test_a_removed_value_is_taken_away(cloud, bench, name, key, value, field, null):
    here = make(cloud, bench, name)
    given = samples.required(name, packed.facts(name))
    here.definition = here.define({**given, key: value})
    here.create()
    stand_ready(cloud, name, 'update')
    here.update(given)
    last = [request.body for request in cloud.requests if request.method in ('PUT', 'PATCH')][-1]
    assert [body[field] for body in last.values()] == [null]


def test_a_password_stays(cloud, bench):
    here = bench('OS::Keystone::User', {'domain': 'known-domain', 'password': 'secret', 'email': 'a@lamp.acme'})
    here.create()
    here.update({'domain': 'known-domain', 'email': 'b@lamp.acme'})
    assert 'password' not in cloud.requests[-1].body['user']


@pytest.mark.parametrize('name', ['OS::Neutron::Router', 'OS::Neutron::ProviderNet'])
def test_what_neutron_takes_in_a_create_only_replaces(cloud, bench, name):
    given = samples.required(name, packed.facts(name))
    here = make(cloud, bench, name)
    here.definition = here.define({**given, 'availability_zone_hints': ['a']})
    here.create()
    with pytest.raises(exception.UpdateReplace):
        here.update({**given, 'availability_zone_hints': ['b']})


def test_a_floating_address_does_not_change_its_name(cloud, bench):
    given = {'floating_network': 'known-outside'}
    here = bench('OS::Neutron::FloatingIP', {**given, 'dns_name': 'a', 'dns_domain': 'acme.'})
    here.create()
    assert cloud.requests[-1].body['floatingip']['dns_name'] == 'a'
    del cloud.requests[:]
    here.update({**given, 'dns_name': 'b'})
    assert cloud.said() == []
