"""Faults on demand, and what remains in the cloud after each."""

import pytest
import requests


def network_fault(sim, **rule):
    return sim.fault(**{'service': 'network', 'method': 'POST', 'path': '/v2.0/networks', **rule})


def create(network, name='n'):
    return network.post('/v2.0/networks', json={'network': {'name': name}}, connect_retries=0)


def names(sim):
    return sim.ask('GET', 'objects/network.networks')['objects']['network.networks']['names']


def test_an_error_before_doing(sim, network):
    network_fault(sim, kind='error', status=503, text='closed')
    answer = create(network)
    assert (answer.status_code, answer.json()['NeutronError']['message']) == (503, 'closed')
    assert 'n' not in names(sim)
    assert create(network).status_code == 201


def test_an_error_after_doing(sim, network):
    network_fault(sim, kind='error_after', status=504)
    assert create(network).status_code == 504
    assert 'n' in names(sim)


@pytest.mark.parametrize('kind, is_there', [('lost', True), ('refused', False)])
def test_connections_that_break(sim, kind, is_there):
    network_fault(sim, kind=kind)
    headers = {'X-Auth-Token': sim.session().get_token()}
    with pytest.raises(requests.ConnectionError):
        requests.post(f'{sim.url}/network/v2.0/networks', json={'network': {'name': 'n'}}, headers=headers, timeout=30)
    assert ('n' in names(sim)) == is_there


@pytest.mark.parametrize('kind, is_there', [('hang', False), ('hang_after', True)])
def test_silence(sim, kind, is_there):
    network_fault(sim, kind=kind)
    headers = {'X-Auth-Token': sim.session().get_token()}
    with pytest.raises(requests.Timeout):
        requests.post(f'{sim.url}/network/v2.0/networks', json={'network': {'name': 'n'}}, headers=headers, timeout=0.5)
    assert ('n' in names(sim)) == is_there


def test_too_many_requests(sim, network):
    network_fault(sim, kind='throttle', seconds=7)
    answer = create(network)
    assert (answer.status_code, answer.headers['Retry-After']) == (429, '7')


def test_quota_used_up(sim, network, volume):
    network_fault(sim, kind='quota')
    assert create(network).json()['NeutronError']['type'] == 'OverQuota'
    sim.fault(service='volume', kind='quota')
    assert volume.post('/volumes', json={'volume': {'size': 1}}).status_code == 413


def test_stays_in_its_state(sim, compute, server):
    sim.fault(service='compute', method='POST', path='/v2.1/servers', kind='stay')
    id = server()
    sim.advance(3600)
    assert compute.get(f'/servers/{id}').json()['server']['status'] == 'BUILD'


def test_ends_in_error_with_text(sim, compute, volume, server, make):
    sim.fault(service='nova', method='POST', path='/v2.1/servers', kind='fail', text='No power')
    id = server()
    sim.advance()
    shown = compute.get(f'/servers/{id}').json()['server']
    assert (shown['status'], shown['fault']['message']) == ('ERROR', 'No power')
    sim.fault(service='volume', method='POST', path='*/volumes', kind='fail')
    disk = make(volume, '/volumes', 'volume', size=1)['id']
    sim.advance()
    assert volume.get(f'/volumes/{disk}').json()['volume']['status'] == 'error'


def test_gone_behind_our_back(sim, compute, server):
    id = server()
    sim.advance()
    sim.fault(service='compute', method='GET', path=f'/v2.1/servers/{id}', kind='gone')
    assert compute.get(f'/servers/{id}').status_code == 404
    assert sim.ids('compute.servers') == []


def test_which_requests_are_hit(sim, network):
    network_fault(sim, kind='error', nth=2, count=2)
    assert [create(network).status_code for _ in range(5)] == [201, 500, 500, 201, 201]
    network_fault(sim, kind='error', body='"name": "bad', count=0)
    assert [create(network, name).status_code for name in ('good', 'bad', 'bad2')] == [201, 500, 500]


def test_rules_are_seen_and_taken_back(sim, network):
    rule = network_fault(sim, kind='error', count=0, path='re:networks$')
    assert create(network).status_code == 500
    assert sim.ask('GET', 'faults')['faults'][0]['hits'] == 1
    assert sim.ask('DELETE', f'faults/{rule["id"]}')['faults'] == []
    assert create(network).status_code == 201


@pytest.mark.parametrize('wrong', [{}, {'kind': 'nonsense'}, {'kind': 'error', 'colour': 'red'}])
def test_a_wrong_rule_is_refused(sim, wrong):
    answer = requests.post(f'{sim.admin_url}/faults', json=wrong, timeout=30)
    assert answer.status_code == 400
    assert answer.json()['error']


def test_counts_say_what_is_alive_and_what_was_ever_made(sim, network, make):
    made = make(network, '/v2.0/networks', 'network', name='n')
    network.delete(f'/v2.0/networks/{made["id"]}')
    found = sim.ask('GET', 'objects/network.networks')['objects']['network.networks']
    assert (found['count'], found['made'], found['names']) == (2, 3, ['public', 'private'])
    assert sim.ask('GET', 'objects/identity')['objects'].keys() >= {'identity.users', 'identity.role_assignments'}


def test_requests_are_counted(sim, network):
    create(network)
    last = sim.ask('GET', 'requests/network')['last'][-1]
    assert last == ['network', 'POST', '/v2.0/networks', 201]


def test_reset_keeps_the_ids_of_seeds(sim, seed, network, make):
    before = seed('network.networks', 'private'), sim.session().get_project_id()
    make(network, '/v2.0/networks', 'network', name='n')
    sim.reset()
    assert names(sim) == ['public', 'private']
    assert before == (seed('network.networks', 'private'), sim.session().get_project_id())
