"""What exists in a cloud becomes a stack: a template is written from the project, a plan that changes nothing imports
it, drift is found and nothing else, and a refactor keeps every object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.cloud import clouds, deployment
from tests.cloud.conftest import CLOUD

Resources = dict[str, dict[str, Any]]
OPTIONAL: dict[str, Resources] = {              # service -> resources; `{name}` is the prefix of all names
    'load-balancer': {
        'balancer': {'type': 'OS::Octavia::LoadBalancer', 'properties': {
            'name': '{name}', 'vip_subnet': {'get_resource': 'subnet'}}},
        'pool': {'type': 'OS::Octavia::Pool', 'properties': {
            'name': '{name}', 'loadbalancer': {'get_resource': 'balancer'}, 'protocol': 'HTTP',
            'lb_algorithm': 'ROUND_ROBIN'}},
        'listener': {'type': 'OS::Octavia::Listener', 'properties': {
            'name': '{name}', 'loadbalancer': {'get_resource': 'balancer'}, 'protocol': 'HTTP', 'protocol_port': 80,
            'default_pool': {'get_resource': 'pool'}}}},
    'dns': {'zone': {'type': 'OS::Designate::Zone', 'properties': {
        'name': '{name}.example.org.', 'email': 'a@example.org'}}},
    'object-store': {'container': {'type': 'OS::Swift::Container', 'properties': {'name': '{name}'}}},
}


def resources(names: dict[str, Any], abilities: set[str]) -> Resources:
    name = names['unique']
    found: Resources = {
        'net': {'type': 'OS::Neutron::Net', 'properties': {'name': name}},
        'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {
            'name': name, 'network': {'get_resource': 'net'}, 'cidr': '10.191.0.0/24'}},
        'router': {'type': 'OS::Neutron::Router', 'properties': {
            'name': name, 'external_gateway_info': {'network': names['external']}}},
        'leg': {'type': 'OS::Neutron::RouterInterface', 'properties': {
            'router': {'get_resource': 'router'}, 'subnet': {'get_resource': 'subnet'}}},
        'group': {'type': 'OS::Neutron::SecurityGroup', 'properties': {'name': name, 'rules': [
            {'protocol': 'tcp', 'port_range_min': 80, 'port_range_max': 80}]}},
        'port': {'type': 'OS::Neutron::Port', 'depends_on': 'subnet', 'properties': {
            'name': name, 'network': {'get_resource': 'net'}, 'security_groups': [{'get_resource': 'group'}]}},
        'server': {'type': 'OS::Nova::Server', 'properties': {
            'name': name, 'image': names['image'], 'flavor': names['flavor'], 'metadata': {'role': 'web'},
            'networks': [{'port': {'get_resource': 'port'}}]}},
        'disk': {'type': 'OS::Cinder::Volume', 'properties': {'name': name, 'size': 1}},
        'attached': {'type': 'OS::Cinder::VolumeAttachment', 'properties': {
            'instance_uuid': {'get_resource': 'server'}, 'volume_id': {'get_resource': 'disk'}}}}
    for service in sorted(abilities & OPTIONAL.keys()):
        found |= _named(OPTIONAL[service], name)
    return found


def _named(value: Any, name: str) -> Any:
    match value:
        case dict():
            return {key: _named(inner, name) for key, inner in value.items()}
        case str():
            return value.replace('{name}', name)
    return value


def ids(heatlite: deployment.Deployment, stack: str) -> set[str]:
    return {each['physical_resource_id'] for each in heatlite.resources(stack)}


def drifts(cloud: clouds.Cloud, heatlite: deployment.Deployment, stack: str) -> None:
    """Each change is found, and nothing else; the update that puts it right leaves none."""
    assert not heatlite.ask('POST', f'{stack}/drift', 200)['drift']['is_drifted']
    of = {each['resource_type']: each for each in heatlite.resources(stack)}
    changed = {}
    for kind, service, path, key in (
            ('OS::Neutron::Net', 'network', '/networks', 'network'),
            ('OS::Neutron::Router', 'network', '/routers', 'router'),
            ('OS::Neutron::Port', 'network', '/ports', 'port'),
            ('OS::Nova::Server', 'compute', '/servers', 'server'),
            ('OS::Cinder::Volume', 'block-storage', '/volumes', 'volume')):
        answer = cloud.ask(service, 'PUT', f'{path}/{of[kind]["physical_resource_id"]}', json={key: {'name': 'other'}})
        assert answer.status_code == 200, answer.text
        changed[of[kind]['resource_name']] = ['name']
    report = heatlite.ask('POST', f'{stack}/drift', 200)['drift']
    assert {each['path'][-1]: [found['path'][0] for found in each['properties']]
            for each in report['resources']} == changed
    template = heatlite.ask('GET', f'{stack}/template', 200)
    assert heatlite.update(stack, template, converge=True) == 'UPDATE_COMPLETE', heatlite.why(stack)
    assert not heatlite.ask('POST', f'{stack}/drift', 200)['drift']['is_drifted']


def renamed(heatlite: deployment.Deployment, stack: str, template: dict[str, Any]) -> None:
    """Every resource gets another name."""
    name = stack.split('/')[2]
    heatlite.ask('POST', '/refactors', 200, {
        'stacks': [{'stack': name, 'existing': True}],
        'moves': [{'from': {'stack': name, 'resource': each}, 'to': {'stack': name, 'resource': f'{each}_2'}}
                  for each in template['resources']]})
    assert {each['resource_name'] for each in heatlite.resources(stack)} == {
        f'{each}_2' for each in template['resources']}


def test_a_project_becomes_a_stack(tmp_path: Path) -> None:
    with clouds.of(CLOUD, tmp_path) as cloud, cloud.furnished() as given, \
            deployment.running(cloud, tmp_path) as heatlite:
        names = clouds.own_names(given)
        before = cloud.listing()
        made = resources(names, cloud.abilities)
        stack = heatlite.create('made', {'heat_template_version': '2018-08-31', 'resources': made})
        assert heatlite.settled(stack) == 'CREATE_COMPLETE', heatlite.why(stack)
        objects = ids(heatlite, stack)
        heatlite.ask('DELETE', f'{stack}/release', 202)
        assert heatlite.settled(stack) == deployment.GONE

        written = heatlite.ask('POST', '/templates/generate', 200, {'name': f'{names["unique"]}*'})
        assert {each['reason'] for each in written['unread']} <= {'the service is not in the catalogue'}
        template = yaml.safe_load(written['template'])
        assert sorted(each['type'] for each in template['resources'].values()) == sorted(
            each['type'] for each in made.values())
        plan = heatlite.ask('POST', '/plans', 201, {
            'stack_name': 'taken', 'template': template, 'imports': written['imports']})['plan']
        assert {each['action'] for each in plan['changes']} == {'import'}
        assert [each for each in plan['changes'] if each['values']] == []
        begun = heatlite.ask('POST', f'/plans/{plan["id"]}/apply', 202, {})
        stack = f'/stacks/taken/{begun["stack"]["id"]}'
        assert heatlite.settled(stack) == 'CREATE_COMPLETE', heatlite.why(stack)
        assert ids(heatlite, stack) == objects

        drifts(cloud, heatlite, stack)
        renamed(heatlite, stack, template)
        assert ids(heatlite, stack) == objects
        assert heatlite.delete(stack) == deployment.GONE
        left = {kind: found - before[kind] for kind, found in cloud.listing().items() if found - before[kind]}
        assert left == {}
