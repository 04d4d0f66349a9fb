"""Stack sets and remote stacks over two deployments in two regions with one Keystone."""

import pytest

from tests.system import regions
from tests.system.processes import eventually
from tests.system.regions import ONE, TWO, TwoRegions

pytestmark = [pytest.mark.service, pytest.mark.skipif(not regions.is_possible(), reason=regions.REASON)]

WAITS = 'will be asked for again'
TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  label: {type: string, default: common}
  fails: {type: boolean, default: false}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1, name: {get_param: label}}}
  may_fail: {type: OS::Heat::TestResource, depends_on: disk, properties: {
    value: {get_param: label}, fail: {get_param: fails}}}
outputs:
  net: {value: {get_resource: net}}
"""


@pytest.fixture(scope='module')
def two(tmp_path_factory):
    with TwoRegions(tmp_path_factory.mktemp('regions'), clients__timeout=3, action_retry_limit=0,
                    stack_set_patience=15) as made:
        yield made


def named(two, region, table, label):
    """Ids of the objects of this name in a region's cloud."""
    return [each['id'] for each in two.objects(region, table)['objects'] if each['name'] == label]


def test_the_life_of_a_set_over_all_regions(two):
    body = {'name': 'life', 'template': TEMPLATE, 'member_query': {'regions': 'all'}, 'region_order': [TWO, ONE],
            'parameters': {'label': 'all'}, 'overrides': {TWO: {'label': 'second'}}}
    found = two.sets('POST', '/preview', body)['preview']
    assert found['summary'] == {'create': 2} and [each['changes']['added'] for each in found['members']] == [3, 3]
    assert not two.stacks(TWO, 'life')
    two.sets('POST', '', body, 201)
    found = two.ended('life')
    assert (found['status'], found['members']) == ('CREATE_COMPLETE', {'current': 2})
    listed = two.sets('GET', '/life/members')['members']
    assert [(each['name'], each['region_name'], each['wave']) for each in listed] == [(ONE, ONE, 2), (TWO, TWO, 1)]
    for table in ('network.networks', 'volume.volumes'):
        assert [len(named(two, region, table, label)) for region in (ONE, TWO) for label in ('all', 'second')] == [
            1, 0, 0, 1]
    assert not two.tokens(ONE), 'a token is stored as long as the action lasts'
    stacks = {each['name']: each['stack_id'] for each in listed}
    for region, stack_id in stacks.items():
        answer = two.where[region].ask(two.demo, 'GET', f'/stacks/{stack_id}')
        assert answer.status == 302
        other = two.where[ONE if region == TWO else TWO]
        assert other.ask(two.demo, 'GET', f'/stacks/{stack_id}').status == 404

    drift = two.sets('POST', '/life/drift')['drift']
    assert (drift['is_drifted'], drift['summary']) == (False, {'same': 2})
    two.demo.session.put(f"/v2.0/networks/{named(two, TWO, 'network.networks', 'second')[0]}", endpoint_filter={
        'service_type': 'network', 'region_name': TWO, 'interface': 'public'}, json={'network': {'name': 'other'}})
    drift = two.sets('POST', '/life/drift')['drift']
    assert {each['name']: each['is_drifted'] for each in drift['members']} == {ONE: False, TWO: True}

    two.sets('PATCH', '/life', {}, 202)
    two.ended('life')
    assert not two.tokens(ONE), 'an update that changes nothing needs none'

    change = {'overrides': {TWO: {'label': 'changed'}}}
    assert {each['name']: each['action'] for each in two.sets('POST', '/life/preview', change)['preview'][
        'members']} == {ONE: 'none', TWO: 'update'}
    two.sets('PATCH', '/life', change, 202)
    assert two.ended('life')['members'] == {'current': 2}
    assert len(named(two, TWO, 'network.networks', 'changed')) == 1
    assert len(named(two, ONE, 'network.networks', 'all')) == 1

    two.sets('PATCH', '/life', {'members': [{'region_name': ONE}], 'overrides': {}, 'region_order': []}, 202)
    assert two.ended('life')['members'] == {'current': 1}
    assert not two.stacks(TWO, 'life') and not named(two, TWO, 'network.networks', 'changed')
    two.sets('DELETE', '/life', status=204)
    two.gone('life')
    assert not named(two, ONE, 'network.networks', 'all') and not named(two, ONE, 'volume.volumes', 'all')


def test_failures_in_a_region_within_the_tolerance(two):
    body = {'name': 'tolerant', 'template': TEMPLATE, 'member_query': {'regions': 'all'}, 'failure_tolerance': 1,
            'region_order': [TWO], 'parameters': {'label': 'tolerant'}, 'overrides': {TWO: {'fails': True}}}
    two.sets('POST', '', body, 201)
    assert two.ended('tolerant')['status'] == 'CREATE_COMPLETE'
    assert two.states('tolerant') == {ONE: 'current', TWO: 'failed'}
    stacks = [each['stack_id'] for each in two.sets('GET', '/tolerant/members')['members']]
    two.sets('PATCH', '/tolerant', {'parameters': {'label': 'again'}}, 202)
    assert two.ended('tolerant')['status'] == 'UPDATE_COMPLETE'
    assert two.states('tolerant') == {ONE: 'current', TWO: 'failed'}
    assert named(two, ONE, 'network.networks', 'again')
    two.sets('PATCH', '/tolerant', {'overrides': {}, 'failure_tolerance': 0}, 202)
    assert two.ended('tolerant')['members'] == {'current': 2}
    assert stacks == [each['stack_id'] for each in two.sets('GET', '/tolerant/members')['members']]
    for region in (ONE, TWO):
        assert len(named(two, region, 'network.networks', 'again')) == 1
    two.sets('DELETE', '/tolerant', status=204)
    two.gone('tolerant')


@pytest.mark.parametrize('fault', ['cut', 'answer', 'hang'])
@pytest.mark.parametrize('is_back', [True, False], ids=['comes-back', 'stays-away'])
def test_a_service_that_fails_while_its_member_is_made(two, fault, is_back):
    """One that comes back in time costs nothing; one that stays away costs its own member, and no other."""
    label = f'{fault}-{"back" if is_back else "away"}'
    two.cloud(TWO, 'PUT', 'settings', {'work': 3})          # seconds that a volume needs
    body = {'name': label, 'template': TEMPLATE, 'member_query': {'regions': 'all'}, 'failure_tolerance': 1,
            'region_order': [TWO], 'parameters': {'label': label}}
    try:
        two.sets('POST', '', body, 201)
        eventually('the volume in the second region', lambda: named(two, TWO, 'volume.volumes', label))
        token, = two.tokens(ONE)
        assert two.demo.token not in token, 'it is sealed'
        before = two.said(ONE, WAITS)
        getattr(two.relay, fault)()
        if is_back:
            eventually('a question without an answer', lambda: two.said(ONE, WAITS) > before)
            two.relay.cut()
            two.relay.mend()
        found = two.ended(label)
    finally:
        two.relay.cut()
        two.relay.mend()
        two.cloud(TWO, 'PUT', 'settings', {'work': 0.05})
    assert found['status'] == 'CREATE_COMPLETE'
    assert two.states(label) == {ONE: 'current', TWO: 'current' if is_back else 'failed'}
    two.sets('PATCH', f'/{label}', {'failure_tolerance': 0}, 202)
    assert two.ended(label)['members'] == {'current': 2}
    for region in (ONE, TWO):
        assert len(named(two, region, 'network.networks', label)) == 1
        assert len(named(two, region, 'volume.volumes', label)) == 1
    two.sets('DELETE', f'/{label}', status=204)
    two.gone(label)
    assert not named(two, TWO, 'volume.volumes', label)


def test_a_region_that_is_down_when_its_turn_comes(two):
    """In an update and in a delete: the other member has its turn, and another try mends it."""
    body = {'name': 'down', 'template': TEMPLATE, 'member_query': {'regions': 'all'}, 'failure_tolerance': 1,
            'region_order': [TWO], 'parameters': {'label': 'down'}}
    two.sets('POST', '', body, 201)
    assert two.ended('down')['members'] == {'current': 2}
    try:
        two.relay.cut()
        preview = two.sets('POST', '/down/preview', {'parameters': {'label': 'up'}})['preview']
        assert {each['name']: each['action'] for each in preview['members']} == {ONE: 'update', TWO: 'unknown'}
        drift = two.sets('POST', '/down/drift')['drift']
        assert {each['name']: each['is_drifted'] for each in drift['members']} == {ONE: False, TWO: None}
        two.sets('PATCH', '/down', {'parameters': {'label': 'up'}}, 202)
        assert two.ended('down')['status'] == 'UPDATE_COMPLETE'
        assert two.states('down') == {ONE: 'current', TWO: 'failed'}
        assert named(two, ONE, 'network.networks', 'up') and named(two, TWO, 'network.networks', 'down')
        two.sets('DELETE', '/down', status=204)
        assert two.ended('down')['status'] == 'DELETE_FAILED'
        assert not named(two, ONE, 'network.networks', 'up') and named(two, TWO, 'network.networks', 'down')
    finally:
        two.relay.mend()
    two.sets('DELETE', '/down', status=204)
    two.gone('down')
    assert not named(two, TWO, 'network.networks', 'down')


def test_remote_stacks_in_both_regions(two):
    def remote(region, label):
        return {'type': 'OS::Heat::Stack', 'properties': {
            'context': {'region_name': region}, 'template': TEMPLATE, 'parameters': {'label': label}}}

    one = two.where[ONE]
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'here': remote(ONE, 'remote-one'), 'there': remote(TWO, 'remote-two')},
        'outputs': {'net': {'value': {'get_attr': ['there', 'outputs', 'net']}}}}
    path = one.create(two.demo, 'remote', template)
    assert one.finished(two.demo, path) == 'CREATE_COMPLETE'
    assert [len(named(two, region, 'network.networks', label)) for region in (ONE, TWO)
            for label in ('remote-one', 'remote-two')] == [1, 0, 0, 1]
    shown = one.ask(two.demo, 'GET', path).json['stack']
    assert [each['output_value'] for each in shown['outputs']] == named(two, TWO, 'network.networks', 'remote-two')
    template['resources']['there'] = remote(ONE, 'moved')          # to another region: another stack
    assert one.ask(two.demo, 'PUT', path, {'template': template}).status == 202
    assert one.finished(two.demo, path) == 'UPDATE_COMPLETE'
    assert not two.stacks(TWO, 'remote') and len(named(two, ONE, 'network.networks', 'moved')) == 1
    assert one.ask(two.demo, 'DELETE', path).status == 204
    assert one.finished(two.demo, path) == 'DELETE_COMPLETE'
    assert not named(two, ONE, 'network.networks', 'moved')


def test_a_region_that_leaves_the_catalogue(two):
    """Its member cannot be updated, the others can; a set without it lets go of nothing that is still there."""
    body = {'name': 'left', 'template': TEMPLATE, 'member_query': {'regions': 'all'}, 'parameters': {'label': 'left'}}
    two.sets('POST', '', body, 201)
    assert two.ended('left')['members'] == {'current': 2}
    admin = two.where[ONE].keystone
    services = admin.get('/services?type=orchestration').json()['services']
    endpoints = admin.get(f"/endpoints?region_id={TWO}&service_id={services[0]['id']}").json()['endpoints']
    for each in endpoints:
        admin.delete(f"/endpoints/{each['id']}")
    try:
        vars(two.demo).pop('token', None)           # a token brings the catalogue of its time
        vars(two.demo).pop('session', None)
        again = {'member_query': {'regions': 'all'}}
        found = two.sets('POST', '/left/preview', again)['preview']
        assert {each['name']: each['action'] for each in found['members']} == {ONE: 'none', TWO: 'delete'}
        two.sets('PATCH', '/left', again, 202)
        found = two.ended('left')
        assert found['status'] == 'UPDATE_FAILED' and TWO in found['status_reason']
        assert two.states('left') == {ONE: 'current', TWO: 'failed'}
    finally:
        two.where[TWO].identity.list()
        vars(two.demo).pop('token', None)
        vars(two.demo).pop('session', None)
    assert named(two, TWO, 'network.networks', 'left')
    two.sets('PATCH', '/left', {}, 202)
    assert two.ended('left')['members'] == {'current': 1}
    assert not named(two, TWO, 'network.networks', 'left')
    two.sets('DELETE', '/left', status=204)
    two.gone('left')
