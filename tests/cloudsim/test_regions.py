"""Two regions in one process: one Keystone, one catalogue, and services that share nothing else."""

import re
import subprocess
import sys

import pytest

from tests.cloudsim.conftest import ROOT, Sim

TWO = 'RegionTwo'


@pytest.fixture(scope='module')
def process():
    with subprocess.Popen([sys.executable, '-m', 'cloudsim', '--port', '0', '--region', TWO], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE) as running:
        yield Sim(re.search(r'http://\S+', running.stdout.readline()).group())
        running.terminate()


@pytest.fixture
def two(sim):
    """The second region from outside."""
    return Sim(f'{sim.url}/regions/{TWO}')


def in_region(sim, service_type, region, **how):
    found = sim.service(service_type, **how)
    found.region_name = region
    return found


def catalogue(sim, user='demo'):
    """{region: {type: URL}} of the public endpoints."""
    own = sim.session(user)
    found = {}
    for each in own.auth.get_access(own).service_catalog.catalog:
        for endpoint in each['endpoints']:
            if endpoint['interface'] == 'public':
                found.setdefault(endpoint['region_id'], {})[each['type']] = endpoint['url']
    return found


def test_each_region_has_all_services_and_keystone_is_the_same(sim):
    found = catalogue(sim)
    assert set(found) == {'RegionOne', TWO}
    assert found['RegionOne'].keys() == found[TWO].keys() >= {'compute', 'network', 'block-storage', 'image'}
    same = {kind for kind, url in found['RegionOne'].items() if found[TWO][kind] == url}
    assert same == {'identity'}
    assert found[TWO]['network'] == found['RegionOne']['network'].replace(sim.url, f'{sim.url}/regions/{TWO}')
    regions = sim.service('identity', 'admin').get('/v3/regions').json()['regions']
    assert {each['id'] for each in regions} == {'RegionOne', TWO}


def test_what_is_made_in_a_region_is_in_no_other(sim, two, make):
    network = make(in_region(sim, 'network', TWO), '/v2.0/networks', 'network', name='there')
    assert network['id'] in two.ids('network.networks')
    assert network['id'] not in sim.ids('network.networks')
    assert in_region(sim, 'network', 'RegionOne').get(f"/v2.0/networks/{network['id']}").status_code == 404
    assert not set(sim.ids('image.images')) & set(two.ids('image.images'))


def test_addresses_in_answers_lead_to_the_same_region(sim, make):
    there = in_region(sim, 'network', TWO)
    for number in range(3):
        make(there, '/v2.0/networks', 'network', name=f'n{number}')
    page = there.get('/v2.0/networks?limit=1').json()
    assert page['networks_links'][0]['href'].startswith(f'{sim.url}/regions/{TWO}/network/v2.0/networks?')
    own = {each['href'] for version in in_region(sim, 'compute', TWO).get(f'{sim.url}/regions/{TWO}/compute/').json()[
        'versions'] for each in version['links']}
    assert all(each.startswith(f'{sim.url}/regions/{TWO}/compute') for each in own)


def test_users_and_tokens_are_good_in_both_regions(sim):
    admin = sim.service('identity', 'admin')
    made = admin.post('/v3/projects', json={'project': {'name': 'new', 'domain_id': 'default'}}).json()['project']
    member = admin.get('/v3/roles?name=member').json()['roles'][0]['id']
    user = admin.get('/v3/users?name=demo').json()['users'][0]['id']
    assert admin.put(f"/v3/projects/{made['id']}/users/{user}/roles/{member}").status_code == 204
    session = sim.session('demo', project_id=made['id'])
    for region in ('RegionOne', TWO):
        url = session.get_endpoint(service_type='network', interface='public', region_name=region)
        assert session.get(f'{url}/v2.0/networks').status_code == 200


def test_faults_and_clocks_are_of_one_region(sim, two, make):
    two.fault(kind='error', service='network', count=0)
    assert in_region(sim, 'network', TWO).get('/v2.0/networks').status_code == 500
    assert in_region(sim, 'network', 'RegionOne').get('/v2.0/networks').status_code == 200
    two.ask('DELETE', 'faults')
    two.ask('POST', 'clock', {'stopped': True})
    volumes = {region: make(in_region(sim, 'block-storage', region), '/volumes', 'volume', size=1)['id']
               for region in ('RegionOne', TWO)}
    two.advance()
    states = {region: in_region(sim, 'block-storage', region).get(f'/volumes/{id}').json()['volume']['status']
              for region, id in volumes.items()}
    assert states == {'RegionOne': 'creating', TWO: 'available'}


def test_a_service_that_runs_elsewhere_is_in_the_region_that_names_it(sim, two):
    sim.ask('POST', 'catalog', {'orchestration': 'http://127.0.0.1:1/v1/%(project_id)s'})
    two.ask('POST', 'catalog', {'orchestration': 'http://127.0.0.1:2/v1/%(project_id)s'})
    found = catalogue(sim)
    project = sim.session().get_project_id()
    assert [found[region]['orchestration'] for region in ('RegionOne', TWO)] == [
        f'http://127.0.0.1:1/v1/{project}', f'http://127.0.0.1:2/v1/{project}']
    sim.reset()
    assert catalogue(sim) == found


def test_a_reset_of_the_second_region_leaves_the_first_and_the_users(sim, two, make):
    for region in ('RegionOne', TWO):
        make(in_region(sim, 'network', region), '/v2.0/networks', 'network', name='one')
    token = sim.session().get_token()
    seeds = set(two.ids('image.images'))
    two.ask('POST', 'reset')
    assert sim.session().get_token() == token
    names = {region: [each['name'] for each in in_region(sim, 'network', region).get('/v2.0/networks').json()[
        'networks']] for region in ('RegionOne', TWO)}
    assert 'one' in names['RegionOne'] and 'one' not in names[TWO]
    assert set(two.ids('image.images')) == seeds


def test_a_region_can_leave_the_catalogue(sim):
    admin = sim.service('identity', 'admin')
    for each in admin.get(f'/v3/endpoints?region_id={TWO}').json()['endpoints']:
        assert admin.delete(f"/v3/endpoints/{each['id']}").status_code == 204
    sim._sessions.clear()
    assert set(catalogue(sim)) == {'RegionOne'}


def test_the_path_of_an_unknown_region_is_not_found(sim):
    assert sim.service('network').get(f'{sim.url}/regions/Nowhere/network/v2.0/networks').status_code == 404
