"""Plans of groups that are updated in batches, with prices of the rating service, on the production profile with a
simulated cloud: what is said before is what the cloud is asked for, also if an engine is killed in between."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.system import identities, production
from tests.system.processes import eventually
from tests.system.scaling import asked

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

MEMBERS, BATCH, GIBIBYTES, PRICE = 6, 2, 2, 0.25
HASHMAP = '/v1/rating/module_config/hashmap'


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    with production.Production(tmp_path_factory.mktemp('planned'), identity=identities.Simulated,
                               plans__rating_currency='EUR') as found:
        yield found


def template(words, pause=0):
    """A group whose members are described by `words`."""
    return {'heat_template_version': '2018-08-31', 'resources': {'group': {
        'type': 'OS::Heat::ResourceGroup',
        'properties': {'count': MEMBERS, 'resource_def': {
            'type': 'OS::Cinder::Volume', 'properties': {'size': GIBIBYTES, 'description': words}}},
        'update_policy': {'rolling_update': {'max_batch_size': BATCH, 'pause_time': pause}}}}}


def planned(cloud, person, path, body):
    answer = cloud.ask(person, 'POST', f'{path}/plans', body)
    assert answer.status == 201, answer.text
    return answer.json['plan']


def apply(cloud, person, plan):
    answer = cloud.ask(person, 'POST', f"/plans/{plan['id']}/apply", {'digest': plan['digest']})
    assert answer.status == 202, answer.text
    return f"/stacks/{plan['stack_name']}/{answer.json['stack']['id']}"


def of_members(plan):
    return [(change['action'], change['physical_resource_id']) for change in plan['changes']
            if change['type'] == 'OS::Cinder::Volume']


def volumes(person):
    return {each['id'] for each in asked(person, 'volumev3', '/volumes')['volumes']}


def written(cloud):
    """(method, path) of the requests to the volume service that may have changed something."""
    root = cloud.identity.url.removesuffix('/v3')
    with urllib.request.urlopen(f'{root}/_sim/requests/volume?limit=1000', timeout=10) as answer:
        found = json.load(answer)['last']
    return [(each[1], each[2]) for each in found if each[1] not in ('GET', 'HEAD')]


def rate(cloud):
    """A price for each GiB of a volume."""
    admin = cloud.people['admin'].session
    made = admin.post(f'{HASHMAP}/services', endpoint_filter={'service_type': 'rating'}, json={'name': 'volume.size'})
    admin.post(f'{HASHMAP}/mappings', endpoint_filter={'service_type': 'rating'}, json={
        'service_id': made.json()['service_id'], 'type': 'flat', 'cost': PRICE})


@pytest.mark.service
def test_batches_do_what_their_plan_says(cloud):
    person = cloud.people['demo']
    rate(cloud)
    others = volumes(person)
    plan = planned(cloud, person, '', {'stack_name': 'volumes', 'template': template('first')})
    assert plan['cost'] == {'currency': 'EUR', 'without_price': [],
                            'per_hour': {'before': '0', 'after': f'{MEMBERS * GIBIBYTES * PRICE:g}'}}
    assert [action for action, _ in of_members(plan)] == MEMBERS * ['create']
    path = apply(cloud, person, plan)
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    ids = volumes(person) - others

    plan = planned(cloud, person, path, {'template': template('second')})
    assert sorted(of_members(plan)) == sorted(('update', each) for each in ids)
    before = written(cloud)
    apply(cloud, person, plan)
    assert cloud.finished(person, path) == 'UPDATE_COMPLETE'
    done = written(cloud)[len(before):]
    assert sorted(each.rpartition('/')[2] for _method, each in done) == sorted(ids)


@pytest.mark.service
def test_an_engine_killed_between_batches_changes_nothing(cloud):
    person = cloud.people['demo']
    plan = planned(cloud, person, '', {'stack_name': 'killed', 'template': template('first')})
    path = apply(cloud, person, plan)
    assert cloud.finished(person, path) == 'CREATE_COMPLETE'
    plan = planned(cloud, person, path, {'template': template('second', pause=2)})
    ids = {each for _action, each in of_members(plan)}
    before = written(cloud)
    apply(cloud, person, plan)
    eventually('the first member is updated', lambda: len(written(cloud)) > len(before))
    for engine in cloud.engines:
        engine.kill()
    cloud.start_engine()
    assert cloud.finished(person, path) == 'UPDATE_COMPLETE'
    done = [each.rpartition('/')[2] for _method, each in written(cloud)[len(before):]]
    assert set(done) == ids
    assert len(done) <= len(ids) + BATCH            # the calls of one batch, whose answers were lost, are repeated
