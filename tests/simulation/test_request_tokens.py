"""Which stacks store the token of their requests, and that the others pay nothing for it."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.common.context import RequestContext
from heatlite.db.tables import credentials
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, wait

HOT = {'heat_template_version': '2018-08-31'}
THING = {'type': 'Sim::Thing', 'properties': {'value': 'v'}}
SET = {'type': 'OS::Heatlite::StackSet', 'properties': {
    'template': 'one', 'members': [{'name': 'a', 'credential_secret_id': 'a'}]}}
PLACES = {'resource_registry': {'OS::Heat::Stack': 'Sim::Place'}}
ALIAS = {'resource_registry': {**PLACES['resource_registry'], 'My::Set': 'OS::Heatlite::StackSet'}}


def group(kind, properties=None):
    return {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 1, 'resource_def': {'type': kind, 'properties': properties or {}}}}


def files(**resources):
    return {f'{name}.yaml': json.dumps({**HOT, 'resources': {'r': each}}) for name, each in resources.items()}


@pytest.mark.parametrize('resource, environment, among, acts', [
    (THING, {}, {}, False),
    (THING, {}, files(unused=SET), False),
    ({'type': 'inner.yaml'}, {}, files(inner=THING), False),
    (group('Sim::Thing', {'value': 'v'}), {}, {}, False),
    (SET, PLACES, {}, True),
    ({'type': 'My::Set', 'properties': SET['properties']}, ALIAS, {}, True),
    ({'type': 'inner.yaml'}, PLACES, files(inner=SET), True),
    ({'type': 'outer.yaml'}, PLACES, files(outer={'type': 'inner.yaml'}, inner=SET), True),
    ({'type': 'inner.yaml'}, ALIAS, files(inner={'type': 'My::Set', 'properties': SET['properties']}), True),
    (group('OS::Heatlite::StackSet', SET['properties']), PLACES, {}, True),
    (group('inner.yaml'), PLACES, files(inner=SET), True)],
    ids=['flat', 'unused-file', 'nested', 'group', 'set', 'alias', 'nested-set', 'deep-set', 'nested-alias',
         'group-of-sets', 'group-of-nested'])
def test_which_stacks_act_by_the_token_of_a_request(resource, environment, among, acts):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': {'r': resource}}, environment, files=among)
        assert done(cluster, stack_id, 'CREATE').acts_by_token is acts


def test_a_stack_that_had_a_set_remains_one():
    """The members of a set that an update removes are deleted with its token, and those of a failed delete later."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': {'r': THING}})
        assert done(cluster, stack_id, 'CREATE').acts_by_token is False
        cluster.update(stack_id, {**HOT, 'resources': {'r': SET}}, PLACES)
        assert done(cluster, stack_id, 'UPDATE').acts_by_token is True
        cluster.update(stack_id, {**HOT, 'resources': {'r': THING}})
        assert done(cluster, stack_id, 'UPDATE').acts_by_token is True


@pytest.mark.parametrize('fails', [False, True])
def test_a_token_is_forgotten_when_the_action_has_ended(fails):
    with Cluster(engines=1) as cluster:
        cluster.context = RequestContext(project_id=cluster.context.project_id, user_id='u', roles=['member'],
                                         overwrite=False)
        overrides = {'a': {'fail': True}} if fails else {}
        stack_id = cluster.create('s', {**HOT, 'resources': {'r': {
            **SET, 'properties': {**SET['properties'], 'overrides': overrides}}}}, PLACES)
        with cluster.database.writer() as tx:
            assert tx.execute(credentials.update().values(token='sealed')).rowcount == 1
        assert cluster.settle(stack_id).status == ('FAILED' if fails else 'COMPLETE')
        wait(cluster, 5.0)
        with cluster.database.reader() as tx:
            assert list(tx.execute(sa.select(credentials.c.token)).scalars()) == [None]


@pytest.mark.parametrize('resource, among', [
    (THING, {}), ({'type': 'inner.yaml'}, files(inner=THING))], ids=['flat', 'nested'])
@pytest.mark.parametrize('action', ['check', 'delete'])
def test_other_stacks_are_not_searched_for_such_resources(resource, among, action):
    with Cluster(engines=1) as cluster:
        user = {'project_id': cluster.context.project_id, 'user_id': 'u', 'roles': ['member'], 'overwrite': False}
        cluster.context = RequestContext(**user)
        stack_id = cluster.create('s', {**HOT, 'resources': {'r': resource}}, files=among)
        done(cluster, stack_id, 'CREATE')
        cluster.context = RequestContext(**user, auth_token='t')
        with statements.noted(lambda statement: 'credentials' in statement or 'resource.type IN' in statement) as seen:
            if action == 'delete':
                cluster.delete(stack_id)
            else:
                cluster.ask(messages.StackAction(stack_id, action))
            done(cluster, stack_id, action.upper())
    searched = [each for each in seen if 'resource.type IN' in each or 'token=' in each.replace(' ', '')]
    assert not searched
