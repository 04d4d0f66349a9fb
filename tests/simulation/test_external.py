"""The object that `external_id` names has to be there when a request is accepted, and when its resource is made."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from tests.simulation.cluster import done, wait
from tests.simulation.openstack import stack

MISSING = '00000000-0000-0000-0000-000000000001'
TYPES = ('OS::Neutron::Port', 'OS::Neutron::Net', 'OS::Neutron::SecurityGroup', 'OS::Nova::Server',
         'OS::Cinder::Volume', 'OS::Nova::KeyPair')


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def hot(resources, **more):
    return {'heat_template_version': '2021-04-16', 'resources': resources, **more}


def external(ident, kind='OS::Neutron::Net', **more):
    return {'type': kind, 'external_id': ident, **more}


def network(it, name='theirs'):
    return it.request('neutron', 'POST', '/networks', {'network': {'name': name}})['network']['id']


def refusal(ident=MISSING, kind='OS::Neutron::Net'):
    return rf'Invalid external resource: Resource {ident} \({kind}\) can not be found\.'


def inside(ident, form):
    """A template with a resource in a nested stack, and its files."""
    child = '''
heat_template_version: 2021-04-16
parameters: {id: {type: string}}
resources: {n: {type: "OS::Neutron::Net", external_id: {get_param: id}}}
'''
    used = {'type': 'child.yaml', 'properties': {'id': ident}}
    return hot({'r': used if form == 'file' else {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 2, 'resource_def': used}}}), {'child.yaml': child}


@pytest.mark.parametrize('kind', TYPES)
def test_a_missing_object_is_refused_at_the_create(it, kind):
    with pytest.raises(exception.StackValidationFailed, match=refusal(kind=kind)):
        it.cluster.create('s', hot({'r': external(MISSING, kind)}))


def test_a_missing_object_is_refused_at_the_update_that_brings_it(it):
    theirs = network(it)
    stack_id = it.cluster.create('s', hot({'a': external(theirs)}))
    done(it.cluster, stack_id, 'CREATE')
    with pytest.raises(exception.StackValidationFailed, match=refusal()):
        it.cluster.update(stack_id, hot({'a': external(theirs), 'b': external(MISSING)}))
    with pytest.raises(exception.StackValidationFailed, match=refusal()):
        it.cluster.update(stack_id, hot({'a': external(MISSING)}))


def test_a_resource_that_stays_is_not_looked_up_again(it):
    theirs = network(it)
    stack_id = it.cluster.create('s', hot({'a': external(theirs)}))
    done(it.cluster, stack_id, 'CREATE')
    it.request('neutron', 'DELETE', f'/networks/{theirs}')
    it.cluster.update(stack_id, hot({'a': external(theirs), 'b': {'type': 'OS::Heat::None'}}))
    done(it.cluster, stack_id, 'UPDATE')


@pytest.mark.parametrize('form', ['file', 'group'])
def test_a_missing_object_in_a_nested_stack_is_refused(it, form):
    template, files = inside(MISSING, form)
    with pytest.raises(exception.StackValidationFailed, match=refusal()):
        it.cluster.create('s', template, files=files)


@pytest.mark.parametrize('form', ['file', 'group'])
def test_an_id_that_is_known_later_is_looked_up_when_the_nested_stack_is_made(it, form):
    for ident, status in ((network(it), 'COMPLETE'), (MISSING, 'FAILED')):
        template, files = inside({'get_attr': ['v', 'value']}, form)
        template['resources']['v'] = {'type': 'OS::Heat::Value', 'properties': {'value': ident}}
        stack_id = it.cluster.create(f's-{status}', template, files=files)
        row = it.cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', status), row.reason
        assert status == 'COMPLETE' or f'Resource {MISSING} (OS::Neutron::Net) can not be found.' in row.reason


@pytest.mark.parametrize('kind', ['OS::Heat::SoftwareConfig', 'OS::Heat::SoftwareDeployment'])
def test_an_object_that_the_engine_stores_is_looked_up_when_the_resource_is_made(it, kind):
    row = it.cluster.settle(it.cluster.create('s', hot({'a': external(MISSING, kind)})))
    assert row.status == 'FAILED' and f'Resource {MISSING} ({kind}) can not be found.' in row.reason


def test_an_object_that_is_gone_when_the_resource_is_made_fails_it(it):
    theirs = network(it)
    stack_id = it.cluster.create('s', hot({
        'first': {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 30}}, 'a': external(theirs)}))
    it.request('neutron', 'DELETE', f'/networks/{theirs}')
    row = it.cluster.settle(stack_id)
    wait(it.cluster, 1)
    assert (row.status, row.reason) == ('FAILED', (
        'Resource ADOPT failed: StackValidationFailed: resources.a: Invalid external resource: '
        f'Resource {theirs} (OS::Neutron::Net) can not be found.'))
