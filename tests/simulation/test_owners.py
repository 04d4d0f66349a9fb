"""A tree of stacks acts for one user: the one who has given the root its definition. Former owners leave no trust."""

from __future__ import annotations

import itertools
import json
import logging
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import greenlet
import pytest
import sqlalchemy as sa
from keystoneauth1 import exceptions as services
from keystoneauth1.access import access
from oslo_config import cfg
from oslo_db import exception as db_exception

from heatlite.common import allowance, crypt, exception
from heatlite.common.context import RequestContext, StoredContext
from heatlite.db import credentials as authorities
from heatlite.db import stack_trees
from heatlite.db.tables import credentials, stack
from heatlite.engine.clients.os.keystone.heat_keystoneclient import KeystoneClient
from heatlite.engine.reconcile import loading
from heatlite.engine.resources.openstack.heat.random_string import RandomString
from heatlite.rpc import messages
from heatlite.testing import cluster as bare
from tests.simulation import cloud as clouds
from tests.simulation import cluster as simulation
from tests.simulation.cluster import PROJECT, SEAL, done, owner, wait
from tests.simulation.test_requests_at_any_moment import ask_during
from tests.simulation.test_unchanged import is_driven

SLOW = 60.0                     # seconds
HOT = {'heat_template_version': '2018-08-31'}


class Keystone:
    """Trusts, which only their trustors may delete."""

    def __init__(self):
        self.trusts, self.numbers = {}, itertools.count(1)
        self.error = None                       # with which it answers deletes
        self.outage = None                      # with which it answers logins
        self.asked = 0                          # so often, whether a trust is dead
        self.meanwhile = []                     # what happens while it makes the next trust
        self.afterwards = []                    # what happens once it has deleted the next one

    def create(self, client):
        context = client.context
        made = RequestContext.from_dict({**context.to_dict(), 'auth_token': None}, overwrite=False)
        if self.meanwhile:
            self.meanwhile.pop()()
        made.trust_id, made.trustor_user_id = f'trust-{next(self.numbers)}', context.user_id
        self.trusts[made.trust_id] = context.user_id
        return made

    def delete(self, client, trust_id):
        if self.error is not None:
            raise self.error
        assert self.trusts.get(trust_id, client.context.user_id) == client.context.user_id
        self.trusts.pop(trust_id, None)
        if self.afterwards:
            self.afterwards.pop()()

    def access(self, context):
        """What it says of a login with a trust."""
        domain = {'id': 'default', 'name': 'Default'}
        return access.create(auth_token='t', body={'token': {
            'methods': ['password'], 'user': {'id': context.user_id, 'name': context.user_id, 'domain': domain},
            'project': {'id': context.project_id, 'name': 'p', 'domain': domain}, 'roles': [],
            'expires_at': '2099-01-01T00:00:00Z', 'issued_at': '2026-01-01T00:00:00Z'}})

    def is_dead(self, client):
        self.asked += 1
        if self.outage is not None:
            raise self.outage
        return client.context.trust_id not in self.trusts


@pytest.fixture
def keystone(monkeypatch):
    made = Acting.keystone = Keystone()
    monkeypatch.setattr(KeystoneClient, 'create_trust_context', lambda client: made.create(client))
    monkeypatch.setattr(KeystoneClient, 'end_trust', lambda client, trust_id: made.delete(client, trust_id))
    monkeypatch.setattr(KeystoneClient, 'is_trust_dead', lambda client: made.is_dead(client))
    monkeypatch.setattr(StoredContext, '_access', lambda context: made.access(context))
    return made


class Acting(clouds.Thing):
    """A thing that notes for whom it is made and changed, with its value."""

    requires_deferred_auth = True
    acts, deletes = [], []
    keystone = None

    def _note(self, value):
        assert self.stack.clients._context is self.context
        self.acts.append((self.context.user_id, value))

    def handle_create(self):
        self._note(self.properties['value'])
        if self.properties['value'] == 'slow':
            self.runtime.sleep(SLOW)
        return super().handle_create()

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._note(json_snippet.properties(self.properties_schema, self.context)['value'])
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)

    def handle_signal(self, details=None):
        context = self.context
        self.runtime.sleep((details or {}).get('seconds', 0.0))
        self.acts.append((context.user_id, 'signal' if context.trust_id in self.keystone.trusts else 'refused'))

    def handle_check(self):
        self._note('check')


    def handle_delete(self):
        may_act = self.context.trust_id in self.keystone.trusts
        self.deletes.append((self.context.user_id, 'delete' if may_act else 'refused'))
        return super().handle_delete()


class Calling(clouds.Thing):
    """A plug-in of Heat that calls services through the session of its context, without a client of Heat's."""

    acts = []

    def _note(self):
        self.acts.append((str(self.stack.action), self.context.trust_id or self.context.auth_token))

    def handle_create(self):
        self._note()
        return super().handle_create()

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._note()
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)

    def handle_delete(self):
        self._note()
        return super().handle_delete()


class Local(clouds.Thing):
    """A plug-in that calls no service, and says so."""

    requires_deferred_auth = False


class OfOurs(RandomString):
    """A plug-in that extends a built-in type, which calls no service."""

    properties_schema = {**RandomString.properties_schema, **clouds.Thing.properties_schema}


OWN_TYPES = {'Sim::Acting': Acting, 'Sim::Calling': Calling, 'Sim::Local': Local, 'Sim::OfOurs': OfOurs}


class Cluster(bare.Cluster):
    """Engines with things that note for whom they act, and users who have tokens."""

    def __init__(self, seed=0, kill_at=(), engines=2, **options):
        def prepare(service):
            for name, kind in {**clouds.resource_mapping(), **OWN_TYPES}.items():
                service.registry.register(name, kind)

        self.loses_wakes = False
        super().__init__(seed, kill_at, engines, seal=SEAL, prepare=prepare, **options)
        self.cloud = clouds.Cloud(self.chaos)
        clouds.use(self.cloud)
        Acting.acts, Acting.deletes = [], []
        self.is_('ann')

    def is_(self, name):
        self.context = user(name)

    def tell_another(self, stack_id, message):
        """Sends a message to an engine that does not drive the stack. It wakes up no other one: its message is lost."""
        present = owner(self, stack_id)
        runtime, service = next(each for each in self.engines if each[0] is not present)
        answers = []
        self.loses_wakes = True
        runtime.spawn(lambda: answers.append(service.endpoint.handle(self.context, message)))
        assert self.universe.run(lambda: bool(answers))
        self.loses_wakes = False

    def _wake(self, stack_id, engine_id):
        if not self.loses_wakes:
            super()._wake(stack_id, engine_id)


def user(name):
    return RequestContext(project_id=PROJECT, user_id=name, username=name, auth_token=f'token of {name}',
                          roles=['member'], overwrite=False)


def template(value, beside='', count=1):
    inner = {**HOT, 'resources': {f'r{number}': {'type': 'Sim::Acting', 'properties': {'value': value}}
                                  for number in range(count)}}
    return ({**HOT, 'resources': {
        'inner': {'type': 'inner.yaml'},
        'beside': {'type': 'Sim::Acting', 'properties': {'value': beside or value}}}},
        {'inner.yaml': json.dumps(inner)})


def create(cluster, value='ann', **more):
    document, files = template(value, **more)
    return cluster.create('s', document, files=files)


def update(cluster, stack_id, value, **more):
    document, files = template(value, **more)
    cluster.update(stack_id, document, files=files)


def nested(cluster, stack_id):
    with cluster.database.reader() as tx:
        found = stack_trees.child(tx, stack_id, 'inner')
    return found.id


def stored(cluster):
    with cluster.database.reader() as tx:
        return list(tx.execute(sa.select(credentials.c.user_id)).scalars())


@pytest.fixture
def cluster(keystone):
    with Cluster() as made:
        yield made


def test_what_another_user_has_defined_is_executed_for_that_user(cluster):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    assert set(Acting.acts) == {('ann', 'ann')}
    del Acting.acts[:]
    cluster.is_('bob')
    update(cluster, stack_id, 'bob')
    done(cluster, stack_id, 'UPDATE')
    assert sorted(Acting.acts) == [('bob', 'bob')] * 2


@pytest.mark.parametrize('seed', range(8))
def test_an_update_that_overtakes_another_action_is_executed_for_its_user(seed, keystone):
    with Cluster(seed) as cluster:
        stack_id = create(cluster, count=4)
        wait(cluster, 0.1 * seed)
        cluster.is_('bob')
        update(cluster, stack_id, 'bob', count=4)
        done(cluster, stack_id, 'UPDATE')
        assert {acting for acting, value in Acting.acts if value == 'bob'} == {'bob'}
        assert ('bob', 'bob') in Acting.acts


@pytest.mark.parametrize('seed', range(8))
def test_updates_of_two_users_at_once_are_executed_for_their_own(seed, keystone):
    """In the root. What one of them has stored in a nested stack, and nothing has begun, may be begun for the other."""
    with Cluster(seed) as cluster:
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        answers = []

        def ask(name):
            document, files = template(f'of {name}', beside=name)
            _runtime, service = cluster.engines[name == 'bob']
            try:
                answers.append(service.endpoint.handle(user(name), messages.UpdateStack(
                    stack_id=stack_id, template=document, environment={}, files=files)))
            except (exception.Conflict, exception.ActionInProgress) as error:
                answers.append(error)

        del Acting.acts[:]
        for number, name in enumerate(('bob', 'ann', 'bob', 'ann')):
            cluster.engines[name == 'bob'][0].spawn(ask, name)
            wait(cluster, 0.02 * (seed % 3) * number)
        assert cluster.universe.run(lambda: len(answers) == 4)
        cluster.settle(stack_id)
        in_root = [(acting, value) for acting, value in Acting.acts if not value.startswith('of ')]
        assert all(acting == value for acting, value in in_root), Acting.acts


@pytest.mark.parametrize('is_dead, acting', [(False, 'ann'), (True, 'bob')])
def test_a_delete_by_a_colleague_acts_for_the_owner_while_that_is_possible(cluster, keystone, is_dead, acting):
    """Services look up some objects, as key pairs, by user and name: the colleague may have one of the same name."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    if is_dead:
        keystone.trusts.clear()
    cluster.is_('bob')
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert Acting.deletes == [(acting, 'delete')] * 2
    assert keystone.trusts == {}


def test_a_delete_that_is_repeated_while_the_first_one_ends_leaves_no_trust(keystone):
    """The engine has deleted the trust; the request makes another one, as the first is dead."""
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        keystone.afterwards.append(lambda: ask_during(cluster, messages.DeleteStack(stack_id)))
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert next(keystone.numbers) == 3, 'a second one was made'
        assert keystone.trusts == {} and stored(cluster) == []


@pytest.mark.parametrize('action', ['update', 'delete'])
def test_a_dead_trust_is_replaced_for_its_owner(cluster, keystone, action):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    keystone.trusts.clear()
    if action == 'update':
        update(cluster, stack_id, 'new')
        done(cluster, stack_id, 'UPDATE')
        assert list(keystone.trusts.values()) == ['ann']
    keystone.asked = 0
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert Acting.deletes == [('ann', 'delete')] * 2
    assert keystone.asked == 1


def test_a_trust_is_kept_while_keystone_does_not_answer(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    before = dict(keystone.trusts)
    keystone.outage = services.ConnectFailure()
    update(cluster, stack_id, 'new')
    done(cluster, stack_id, 'UPDATE')
    assert keystone.trusts == before


@pytest.mark.parametrize('is_dead, outcome', [(False, 'delete'), (True, 'refused')])
def test_a_delete_by_an_administrator_of_another_project_acts_for_the_owner(cluster, keystone, is_dead, outcome):
    """Services answer that what another project has does not exist: it would be left."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    if is_dead:
        keystone.trusts.clear()
    cluster.context = RequestContext(project_id='another', user_id='admin', username='admin', auth_token='t',
                                     roles=['admin'], is_admin=True, overwrite=False)
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert Acting.deletes == [('ann', outcome)] * 2


def test_a_nested_stack_that_the_update_leaves_alone_has_another_owner_too(cluster):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    cluster.is_('bob')
    update(cluster, stack_id, 'ann', beside='bob')
    done(cluster, stack_id, 'UPDATE')
    del Acting.acts[:]
    cluster.is_('ann')
    cluster.ask(messages.StackAction(nested(cluster, stack_id), 'check'))
    done(cluster, nested(cluster, stack_id), 'CHECK')
    assert Acting.acts == [('bob', 'check')]


def test_a_nested_stack_that_an_older_action_creates_is_driven_for_the_new_owner(cluster, keystone):
    """The update of the new owner comes to the stack with that action later."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    inner = nested(cluster, stack_id)
    thing = {'type': 'Sim::Acting', 'properties': {'value': 'slow'}}
    cluster.update(inner, {**HOT, 'resources': {'first': thing, 'second': {
        'type': 'inmost.yaml', 'depends_on': 'first'}}}, files={'inmost.yaml': json.dumps(
            {**HOT, 'resources': {'r': {'type': 'Sim::Acting', 'properties': {'value': 'inmost'}}}})})
    wait(cluster, SLOW / 4)
    cluster.is_('bob')
    document, files = template('bob')
    document['resources'] |= {'more': thing, 'inner': {'type': 'inner.yaml', 'depends_on': 'more'}}
    cluster.update(stack_id, document, files=files)
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert [acting for acting, value in Acting.acts if value == 'inmost'] == ['bob']
    assert list(keystone.trusts.values()) == stored(cluster) == ['bob']


def test_a_nested_stack_is_updated_alone_by_the_owner_of_the_tree_only(cluster):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    inner = nested(cluster, stack_id)
    document = json.loads(template('mine')[1]['inner.yaml'])
    cluster.is_('bob')
    with pytest.raises(exception.Forbidden, match=stack_id):
        cluster.update(inner, document)
    assert cluster.row(inner).action == 'CREATE'
    cluster.is_('ann')
    cluster.update(inner, document)
    done(cluster, inner, 'UPDATE')
    assert ('ann', 'mine') in Acting.acts
    cluster.is_('bob')
    update(cluster, stack_id, 'bob')
    done(cluster, stack_id, 'UPDATE')
    cluster.update(inner, document)
    done(cluster, inner, 'UPDATE')
    assert Acting.acts[-1] == ('bob', 'mine')
    cluster.is_('ann')
    with pytest.raises(exception.Forbidden):
        cluster.update(inner, document)


def snapshot(cluster, stack_id):
    found = cluster.ask(messages.SnapshotStack(stack_id))['id']
    done(cluster, stack_id, 'SNAPSHOT')
    return found


def test_a_restore_is_executed_for_the_user_who_asks_for_it(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    snapshot_id = snapshot(cluster, stack_id)
    cluster.is_('bob')
    update(cluster, stack_id, 'bob')
    done(cluster, stack_id, 'UPDATE')
    cluster.is_('cay')
    del Acting.acts[:]
    cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
    done(cluster, stack_id, 'RESTORE')
    wait(cluster, 5.0)
    assert sorted(Acting.acts) == [('cay', 'ann')] * 2
    assert list(keystone.trusts.values()) == stored(cluster) == ['cay']


def test_a_nested_stack_is_restored_alone_by_the_owner_of_the_tree_only(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    inner = nested(cluster, stack_id)
    snapshot_id = snapshot(cluster, inner)
    cluster.is_('bob')
    refused = cluster.ask(messages.RestoreSnapshot(inner, snapshot_id), [exception.Forbidden])
    assert stack_id in str(refused) and cluster.row(inner).action == 'SNAPSHOT'
    cluster.is_('ann')
    cluster.ask(messages.RestoreSnapshot(inner, snapshot_id))
    done(cluster, inner, 'RESTORE')
    assert list(keystone.trusts.values()) == stored(cluster) == ['ann']


def test_a_rollback_is_executed_for_the_user_who_asks_for_it(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    cluster.is_('bob')
    document, files = template('bob')
    document['resources']['more'] = {'type': 'Sim::Acting', 'properties': {'value': 'slow'}}
    cluster.update(stack_id, document, files=files)
    wait(cluster, SLOW / 4)
    cluster.is_('cay')
    del Acting.acts[:]
    cluster.ask(messages.CancelStack(stack_id, rollback=True))
    done(cluster, stack_id, 'ROLLBACK')
    wait(cluster, 5.0)
    assert ('cay', 'ann') in Acting.acts and ('bob', 'ann') not in Acting.acts
    assert list(keystone.trusts.values()) == stored(cluster) == ['cay']


@pytest.mark.parametrize('is_dead', [False, True])
@pytest.mark.parametrize('request_', ['update', 'cancel', 'restore'])
def test_the_new_owner_of_what_is_to_be_deleted_can_act(cluster, keystone, request_, is_dead):
    """`is_dead`: the trust of the former owner, who has left."""
    stack_id = cluster.create('s', HOT)
    done(cluster, stack_id, 'CREATE')
    snapshot_id = snapshot(cluster, stack_id)
    slow = {'type': 'Sim::Acting', 'properties': {'value': 'slow' if request_ == 'cancel' else 'ann'}}
    cluster.update(stack_id, {**HOT, 'resources': {'more': slow}})
    wait(cluster, SLOW / 4)
    if is_dead:
        keystone.trusts.clear()
    cluster.is_('bob')
    if request_ == 'update':
        cluster.update(stack_id, HOT)
    else:
        cluster.ask(messages.CancelStack(stack_id, rollback=True) if request_ == 'cancel' else
                    messages.RestoreSnapshot(stack_id, snapshot_id))
    assert 'bob' in keystone.trusts.values()
    done(cluster, stack_id, {'update': 'UPDATE', 'cancel': 'ROLLBACK', 'restore': 'RESTORE'}[request_])
    wait(cluster, 5.0)
    assert list(keystone.trusts.values()) == stored(cluster) == ['bob']


def test_an_owner_with_a_stored_password_needs_none_for_a_former_definition(cluster, keystone):
    cfg.CONF.set_override('deferred_auth_method', 'password')
    try:
        cluster.context.password = 'secret of ann'
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        snapshot_id = snapshot(cluster, stack_id)
        cluster.is_('ann')
        cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
        done(cluster, stack_id, 'RESTORE')
        with cluster.database.reader() as tx:
            assert loading.stored_context(tx, cluster.row(stack_id)).password == 'secret of ann'
    finally:
        cfg.CONF.clear_override('deferred_auth_method')


def test_a_delete_takes_the_password_of_a_colleague(cluster, keystone):
    cfg.CONF.set_override('deferred_auth_method', 'password')
    try:
        cluster.context.password = 'secret of ann'
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        cluster.is_('bob')
        cluster.context.password = 'secret of bob'
        cluster.ask(messages.DeleteStack(stack_id))
        with cluster.database.reader() as tx:
            assert loading.stored_context(tx, cluster.row(stack_id)).password == 'secret of bob'
    finally:
        cfg.CONF.clear_override('deferred_auth_method')


def test_an_administrator_of_another_project_restores_for_the_owner(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    snapshot_id = snapshot(cluster, stack_id)
    update(cluster, stack_id, 'new')
    done(cluster, stack_id, 'UPDATE')
    del Acting.acts[:]
    cluster.context = RequestContext(project_id='of-operators', user_id='root', username='root', is_admin=True,
                                     auth_token='token of root', roles=['admin'], overwrite=False)
    cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
    cluster.is_('ann')
    done(cluster, stack_id, 'RESTORE')
    wait(cluster, 5.0)
    assert sorted(Acting.acts) == [('ann', 'ann')] * 2
    assert list(keystone.trusts.values()) == stored(cluster) == ['ann']


def test_a_rollback_of_a_nested_stack_alone_is_for_the_owner_of_the_tree_only(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    inner = nested(cluster, stack_id)
    cluster.update(inner, json.loads(template('slow', count=2)[1]['inner.yaml']))
    wait(cluster, SLOW / 4)
    cluster.is_('bob')
    refused = cluster.ask(messages.CancelStack(inner, rollback=True), [exception.Forbidden])
    assert stack_id in str(refused) and cluster.row(inner).action == 'UPDATE'
    cluster.is_('ann')
    cluster.ask(messages.CancelStack(inner, rollback=True))
    done(cluster, inner, 'ROLLBACK')
    assert list(keystone.trusts.values()) == stored(cluster) == ['ann']


@pytest.mark.parametrize('is_nested', [False, True])
def test_a_restore_needs_the_rights_to_the_types_of_the_snapshot(keystone, tmp_path, is_nested):
    """Also to those of which the stack has no resource now, and in nested stacks."""
    rules = tmp_path / 'policy.yaml'
    rules.write_text('"resource_types:Sim::Forbidden": "user_id:ann"')
    with Cluster(**{'oslo_policy.policy_file': str(rules)}) as cluster:
        kind = {'type': 'Sim::Forbidden', 'properties': {'value': 'one'}}
        document = {**HOT, 'resources': {'r': {'type': 'inner.yaml'} if is_nested else kind}}
        files = {'inner.yaml': json.dumps({**HOT, 'resources': {'r': kind}})} if is_nested else {}
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Forbidden', Acting)
        stack_id = cluster.create('s', document, files=files)
        done(cluster, stack_id, 'CREATE')
        snapshot_id = snapshot(cluster, stack_id)
        cluster.update(stack_id, {**HOT, 'resources': {}})
        done(cluster, stack_id, 'UPDATE')
        cluster.is_('bob')
        refused = cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id), [exception.Forbidden])
        assert 'Sim::Forbidden' in str(refused) and list(keystone.trusts.values()) == ['ann']
        cluster.is_('ann')
        cluster.ask(messages.RestoreSnapshot(stack_id, snapshot_id))
        done(cluster, stack_id, 'RESTORE')


def test_nested_stacks_of_an_earlier_release_act_for_the_owner_of_the_root(cluster, keystone):
    """Their rows have the credentials of the user who created the tree."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    with cluster.database.writer() as tx:
        method, sealed = crypt.encrypt('trust-of-zoe')
        present = authorities.of_tree(tx, stack_id)
        keystone.trusts['trust-of-zoe'] = 'zoe'
        tx.execute(credentials.insert(), [{
            **{name: getattr(present, name) for name in authorities.NAMES}, 'id': 'former', 'user_id': 'zoe',
            'method': method, 'trust_id': sealed}])
        tx.execute(stack.update().where(stack.c.owner_id == stack_id).values(credentials_id='former'))
    del Acting.acts[:]
    cluster.ask(messages.StackAction(nested(cluster, stack_id), 'check'))
    done(cluster, nested(cluster, stack_id), 'CHECK')
    assert Acting.acts == [('ann', 'check')]
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)
    assert not keystone.trusts and not stored(cluster)


def test_the_trust_of_a_former_owner_is_deleted_at_the_end_of_the_action(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    assert list(keystone.trusts.values()) == ['ann']
    cluster.is_('bob')
    update(cluster, stack_id, 'bob')
    assert sorted(keystone.trusts.values()) == ['ann', 'bob']           # calls of an engine may still use it
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert list(keystone.trusts.values()) == ['bob'] and stored(cluster) == ['bob']
    assert cluster.row(stack_id).credentials_id == cluster.row(nested(cluster, stack_id)).credentials_id
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)
    assert not keystone.trusts and not stored(cluster)


def test_a_change_of_the_owner_has_the_time_of_its_request_not_of_the_trust(keystone):
    """What begins while the trust is made acts for the former owner."""
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        cluster.is_('bob')
        (runtime, _service), = cluster.engines
        keystone.meanwhile.append(lambda: runtime.sleep(SLOW))
        update(cluster, stack_id, 'bob')
        assert not keystone.meanwhile
        with cluster.database.reader() as tx:
            assert authorities.of_tree(tx, stack_id).created_at == cluster.row(stack_id).started_at


def test_owners_cannot_change_without_end_during_one_action(cluster, keystone):
    stack_id = create(cluster)
    for number in range(authorities.MOST_REPLACED):
        cluster.is_(f'user-{number}')
        update(cluster, stack_id, f'{number}')
    cluster.is_('one more')
    document, files = template('more')
    refused = cluster.ask(messages.UpdateStack(stack_id=stack_id, template=document, environment={}, files=files),
                          [exception.Conflict])
    assert isinstance(refused, exception.Conflict)
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    update(cluster, stack_id, 'more')
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert stored(cluster) == ['one more']


@pytest.mark.parametrize('error, kept', [(services.ConnectFailure(), True), (services.InternalServerError(), True),
                                         (services.Unauthorized(), True),
                                         (services.Forbidden(), False)])
def test_a_trust_that_cannot_be_deleted_now_is_deleted_later(cluster, keystone, error, kept):
    """Unless Keystone forbids it: it would do so again, and the credentials would be in the way of others."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    cluster.is_('bob')
    keystone.error = error
    update(cluster, stack_id, 'bob')
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert sorted(keystone.trusts.values()) == ['ann', 'bob']
    assert sorted(stored(cluster)) == ['ann', 'bob'][not kept:]
    keystone.error = None
    update(cluster, stack_id, 'bob again')
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert ('ann' in keystone.trusts.values()) is not kept and stored(cluster) == ['bob']


def test_a_delete_does_not_store_the_credentials_of_a_former_owner(keystone):
    """It renews those of a restored stack; another user updates the stack meanwhile."""
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        made = done(cluster, stack_id, 'CREATE')
        with cluster.database.writer() as tx:
            tx.execute(stack.update().where(stack.c.id == stack_id).values(
                restored_from=made.created_at + timedelta(seconds=1)))
        document, files = template('bob')
        (_runtime, service), = cluster.engines
        keystone.meanwhile.append(lambda: service.endpoint.handle(user('bob'), messages.UpdateStack(
            stack_id=stack_id, template=document, environment={}, files=files)))
        cluster.delete(stack_id)
        assert not keystone.meanwhile
        with cluster.database.reader() as tx:
            assert authorities.of_tree(tx, stack_id).user_id == 'bob'
        cluster.until_deleted(stack_id)
        assert not keystone.trusts and not stored(cluster)


def from_backup(cluster, stack_id):
    """Marks a stack as restored with the database."""
    row = cluster.row(stack_id)
    with cluster.database.writer() as tx:
        tx.execute(stack.update().where(stack.c.root_id == stack_id).values(
            restored_from=(row.started_at or row.created_at) + timedelta(seconds=1)))


@pytest.mark.parametrize('kind', [messages.DeleteStack, messages.ForceDeleteStack])
@pytest.mark.parametrize('is_dead', [False, True])
def test_a_delete_of_a_restored_stack_by_another_user_leaves_no_trust(cluster, keystone, kind, is_dead):
    """`is_dead`: the trust was deleted with the stack since the backup."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    from_backup(cluster, stack_id)
    if is_dead:
        keystone.trusts.clear()
    cluster.is_('bob')
    cluster.ask(kind(stack_id))
    assert ('bob' in keystone.trusts.values()) is is_dead and next(keystone.numbers) == (3 if is_dead else 2)
    cluster.until_deleted(stack_id)
    assert not keystone.trusts and not stored(cluster)


def test_the_owner_of_a_restored_stack_gets_one_new_trust(cluster, keystone):
    """And the former one, which usually still is there, is deleted."""
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    from_backup(cluster, stack_id)
    wait(cluster, 5.0)
    for value in ('ann', 'changed', 'changed', 'again'):
        update(cluster, stack_id, value)
        done(cluster, stack_id, 'UPDATE')
        wait(cluster, 5.0)
        assert list(keystone.trusts) == ['trust-2'] and stored(cluster) == ['ann']
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)
    assert not keystone.trusts and not stored(cluster)


@pytest.mark.parametrize('kind', [messages.DeleteStack, messages.ForceDeleteStack])
def test_a_delete_of_a_restored_stack_by_its_owner_leaves_no_trust(cluster, keystone, kind):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    from_backup(cluster, stack_id)
    cluster.ask(kind(stack_id))
    assert 'trust-2' in keystone.trusts
    cluster.ask(kind(stack_id), [exception.EntityNotFound])
    cluster.until_deleted(stack_id)
    assert not keystone.trusts and not stored(cluster) and next(keystone.numbers) == 3


def refused(cluster, stack_id, snapshot_id):
    """Requests that find the stack locked, and one that no stack is made for."""
    document, files = template('refused')
    yield messages.UpdateStack(stack_id=stack_id, template=document, environment={}, files=files), exception.StackLocked
    yield messages.RestoreSnapshot(stack_id, snapshot_id), exception.StackLocked
    yield messages.DeleteStack(stack_id), exception.StackLocked
    yield messages.ForceDeleteStack(stack_id), exception.StackLocked
    yield messages.CreateStack(
        stack_name='s', template=document, environment={}, files=files), exception.StackExists


@pytest.mark.parametrize('number', range(5))
@pytest.mark.parametrize('name', ['ann', 'bob'])
def test_a_request_that_is_refused_in_the_end_leaves_no_trust(keystone, number, name):
    """What it is refused for happens while its trust is made."""
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        snapshot_id = snapshot(cluster, stack_id)
        message, error = list(refused(cluster, stack_id, snapshot_id))[number]
        if error is exception.StackExists:
            cluster.delete(stack_id)
            cluster.until_deleted(stack_id)
        else:
            from_backup(cluster, stack_id)
        (_runtime, service), = cluster.engines

        def meanwhile():
            if error is exception.StackExists:
                service.endpoint.handle(user('ann'), messages.CreateStack(
                    stack_name='s', template={**HOT, 'resources': {}}, environment={}, files={}))
            else:
                service.endpoint.handle(user('ann'), messages.LockStack(stack_id, 'repairs'))

        cluster.is_(name)
        keystone.meanwhile.append(meanwhile)
        if isinstance(message, messages.DeleteStack | messages.ForceDeleteStack) and name == 'bob':
            keystone.meanwhile.pop()()              # such a request makes none
        assert isinstance(cluster.ask(message, [error]), error)
        assert not keystone.meanwhile
        assert len(keystone.trusts) == (error is not exception.StackExists) and 'bob' not in keystone.trusts.values()


def test_an_update_with_a_wrong_template_leaves_no_trust(cluster, keystone):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    cluster.is_('bob')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, environment={}, files={}, template={
        **HOT, 'resources': {'r': {'type': 'Sim::Acting', 'properties': {'unknown': 1}}}}),
        [exception.StackValidationFailed])
    assert list(keystone.trusts.values()) == ['ann']


ERRORS = {'defect': TypeError('a defect'), 'database': db_exception.DBError(Exception('an unknown error')),
          'killed': greenlet.GreenletExit()}


@pytest.fixture(params=ERRORS)
def broken_insert(request):
    """An insert of credentials ends with that error."""
    def fail(_connection, _cursor, statement, *_more):
        if statement.startswith('INSERT INTO credentials'):
            raise ERRORS[request.param]

    sa.event.listen(sa.Engine, 'before_cursor_execute', fail)
    yield
    sa.event.remove(sa.Engine, 'before_cursor_execute', fail)


def failed(cluster):
    """Requests a stack; returns the error, which is no refusal."""
    (runtime, service), = cluster.engines
    document, files = template('ann')
    ended = []

    def request():
        try:
            service.endpoint.handle(cluster.context, messages.CreateStack(
                stack_name='s', template=document, environment={}, files=files))
        except BaseException as error:
            ended.append(error)

    runtime.spawn(request)
    assert cluster.universe.run(lambda: bool(ended))
    return ended[0]


def test_a_request_with_an_internal_error_leaves_no_trust(keystone, broken_insert):
    with Cluster(engines=1) as cluster:
        assert failed(cluster) in ERRORS.values()
        assert not keystone.trusts and not stored(cluster) and next(keystone.numbers) == 2


def test_a_request_with_an_internal_error_after_its_commit_leaves_its_trust(keystone, monkeypatch):
    with Cluster(engines=1) as cluster:
        (_runtime, service), = cluster.engines

        def adopt(_leased):
            raise ERRORS['defect']

        monkeypatch.setattr(service.controller, 'adopt', adopt)
        assert failed(cluster) is ERRORS['defect']
        assert list(keystone.trusts.values()) == stored(cluster) == ['ann']


def late(cluster, message):
    """The error of a request whose caller waits for ten seconds, and the virtual seconds that it takes."""
    (runtime, service), = cluster.engines
    answers = []
    cluster.context.deadline = runtime.now() + timedelta(seconds=10)

    def request():
        began = runtime.monotonic()
        try:
            with allowance.limited(runtime, 10, reads=False):
                service.endpoint.handle(cluster.context, message)
            answers.append((None, 0))
        except exception.HeatException as error:
            answers.append((type(error), runtime.monotonic() - began))
    runtime.spawn(request)
    assert cluster.universe.run(lambda: bool(answers))
    return answers[0]


def test_an_update_that_is_late_after_its_trust_was_made_ends_and_leaves_none(keystone, monkeypatch):
    trusts = []
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        cluster.is_('bob')
        (runtime, _service), = cluster.engines

        def check(_acting):
            trusts.append(dict(keystone.trusts))
            runtime.sleep(1000)
        monkeypatch.setattr(Acting, 'validate', check)
        document, files = template('bob')
        error, seconds = late(cluster, messages.UpdateStack(
            stack_id=stack_id, template=document, environment={}, files=files))
        assert error is exception.TooLate and seconds <= 10 + allowance.GRACE + 1
        assert 'bob' in trusts[0].values()
        assert list(keystone.trusts.values()) == ['ann']


def test_a_request_that_is_late_while_its_trust_is_made_leaves_none(keystone):
    with Cluster(engines=1) as cluster:
        (runtime, _service), = cluster.engines
        keystone.meanwhile.append(lambda: runtime.sleep(20))
        document, files = template('ann')
        error, _seconds = late(cluster, messages.CreateStack(
            stack_name='s', template=document, environment={}, files=files))
        assert error is exception.TooLate
        assert not keystone.meanwhile and not keystone.trusts


@pytest.mark.parametrize('signalled', ['inner', 's'])
def test_a_trust_is_left_while_a_signal_is_handled_with_it(cluster, keystone, signalled):
    stack_id = create(cluster)
    done(cluster, stack_id, 'CREATE')
    wait(cluster, 5.0)
    which, name = (stack_id, 'beside') if signalled == 's' else (nested(cluster, stack_id), 'r0')
    cluster.ask(messages.SignalResource(which, name, {'seconds': SLOW}))
    wait(cluster, 5.0)
    cluster.is_('bob')
    update(cluster, stack_id, 'ann' if signalled == 'inner' else 'bob', beside='bob' if signalled == 'inner' else 'ann')
    wait(cluster, 2 * SLOW)
    done(cluster, stack_id, 'UPDATE')
    assert ('ann', 'signal') in Acting.acts
    update(cluster, stack_id, 'bob again')
    done(cluster, stack_id, 'UPDATE')
    wait(cluster, 5.0)
    assert list(keystone.trusts.values()) == stored(cluster) == ['bob']


def test_signals_after_a_cancelled_update_are_handled_for_its_user(cluster):
    document = {**HOT, 'resources': {name: {'type': 'Sim::Acting', 'properties': {'value': value}}
                                     for name, value in (('a', 'a'), ('b', 'slow'))}}
    stack_id = cluster.create('s', document)
    wait(cluster, SLOW / 4)
    cluster.is_('bob')
    cluster.tell_another(stack_id, messages.UpdateStack(
        stack_id=stack_id, template=document, environment={}, files={}))
    cluster.tell_another(stack_id, messages.CancelStack(stack_id, rollback=False))
    cluster.ask(messages.SignalResource(stack_id, 'a', {}))
    wait(cluster, SLOW / 4)
    assert Acting.acts[-1] == ('bob', 'signal')
    cluster.settle(stack_id)


@contextmanager
def when_logged(name, text, act):
    """Call `act` in the thread that first logs a line of the logger `name` that contains `text`, before it goes on."""
    log, lines = logging.getLogger(name), []
    level = log.level

    def note(record):
        if text in record.getMessage() and not lines:
            lines.append(record)
            act()
        return True

    log.setLevel(logging.INFO)
    log.addFilter(note)
    try:
        yield lines
    finally:
        log.removeFilter(note)
        log.setLevel(level)


def changing_owners(cluster):
    """More users, one after the other, than may wait for the end of one action."""
    for name in ('bob', 'ann') * (authorities.MOST_REPLACED // 2 + 1):
        cluster.is_(name)
        yield name


@pytest.mark.parametrize('cancels', [False, True])
def test_a_repair_of_drift_does_not_give_the_tree_back_to_a_former_owner(keystone, cancels):
    """Who takes it over when the repair has read the credentials. `cancels`: the update; the tag is as before."""
    with Cluster(engines=1, **{'drift.interval': 20.0, 'drift.repair_interval': 0.0}) as cluster:
        document = {**HOT, 'resources': {'r': {'type': 'Sim::Acting', 'properties': {'value': 'v'}}}}
        environment = {'resource_registry': {'drift': {'*': 'repair'}}}
        stack_id = cluster.create('s', document, environment=environment)
        done(cluster, stack_id, 'CREATE')
        for each in cluster.cloud.objects.values():
            each['value'] = 'drifted'
        (_runtime, service), = cluster.engines
        thing = {'type': 'Sim::Acting', 'properties': {'value': 'of bob'}}
        other = {**HOT, 'resources': {**document['resources'], 'more': thing}}

        def take_over():
            service.endpoint.handle(user('bob'), messages.UpdateStack(
                stack_id=stack_id, template=other, environment=environment, files={}))
            if cancels:
                service.endpoint.handle(user('bob'), messages.CancelStack(stack_id, rollback=True))

        with when_logged('heatlite.engine.requests.drift', 'is repaired', take_over) as repairs:
            assert cluster.universe.run(lambda: bool(repairs))
            wait(cluster, 60.0)
        assert list(keystone.trusts.values()) == stored(cluster) == ['bob']


def test_updates_that_change_nothing_leave_no_trust(cluster, keystone):
    stack_id = create(cluster, 'same')
    done(cluster, stack_id, 'CREATE')
    wait(cluster, 10.0)
    for name in changing_owners(cluster):
        update(cluster, stack_id, 'same')
        done(cluster, stack_id, 'UPDATE')
        wait(cluster, 5.0)
        assert list(keystone.trusts.values()) == stored(cluster) == [name]
    document, files = template('same')
    assert not is_driven(cluster, stack_id, document, files=files)


def test_refactors_leave_no_trust(cluster, keystone):
    def with_one(name):
        return {**HOT, 'resources': {name: {'type': 'Sim::Acting', 'properties': {'value': 'same'}}}}

    stack_id = cluster.create('s', with_one('r'))
    done(cluster, stack_id, 'CREATE')
    former = 'r'
    for number, name in enumerate(changing_owners(cluster)):
        present = f'r{number}'
        cluster.ask(messages.Refactor(({'stack_id': stack_id, 'template': with_one(present)},), (
            {'from': {'stack': stack_id, 'resource': former}, 'to': {'stack': stack_id, 'resource': present}},)))
        assert list(keystone.trusts.values()) == stored(cluster) == [name]
        former = present


def test_no_trust_is_left_however_engines_end(keystone, monkeypatch):
    def life(cluster):
        keystone.trusts.clear()
        stack_id = create(cluster)
        done(cluster, stack_id, 'CREATE')
        cluster.is_('bob')
        update(cluster, stack_id, 'bob')
        cluster.chaos.enabled = True
        done(cluster, stack_id, 'UPDATE')
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert not keystone.trusts and not stored(cluster)

    monkeypatch.setattr(simulation, 'Cluster', Cluster)
    assert simulation.kill_engines_in(life, 3, from_the_start=False) > 0


def retained_stack(cluster, levels=()):
    """Return the id of a nested stack that stayed when its root was deleted. `levels`: of stacks in it, outside in."""
    kind, files = 'inner.yaml', {'inner.yaml': json.dumps(
        {**HOT, 'resources': {'r': {'type': 'Sim::Acting', 'properties': {'value': 'x'}}}})}
    for level in reversed(levels):
        files[level] = json.dumps({**HOT, 'resources': {'within': {'type': kind}}})
        kind = level
    stack_id = cluster.create('s', {**HOT, 'resources': {'inner': {'type': kind, 'deletion_policy': 'Retain'}}},
                              files=files)
    done(cluster, stack_id, 'CREATE')
    retained = nested(cluster, stack_id)
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert (list(Acting.keystone.trusts.values()), stored(cluster), Acting.deletes) == ([], [], [])
    return retained


@pytest.mark.parametrize('depth', [1, 2])
def test_a_retained_nested_stack_is_deleted_for_the_user_who_asks_for_it(cluster, keystone, depth):
    """The credentials of its tree end with the root."""
    retained = retained_stack(cluster, ['outer.yaml'][:depth - 1])
    cluster.is_('bob')
    cluster.delete(retained)
    done(cluster, retained, 'DELETE')
    assert Acting.deletes == [('bob', 'delete')]
    assert (list(keystone.trusts.values()), stored(cluster)) == ([], [])


def test_a_retained_nested_stack_is_deleted_by_force(cluster, keystone):
    retained = retained_stack(cluster)
    cluster.is_('bob')
    cluster.ask(messages.ForceDeleteStack(retained))
    done(cluster, retained, 'DELETE')
    assert Acting.deletes == [('bob', 'delete')]
    assert (list(keystone.trusts.values()), stored(cluster)) == ([], [])


def test_a_delete_that_is_refused_makes_no_trust(cluster, keystone):
    retained = retained_stack(cluster)
    made = next(keystone.numbers)
    for _runtime, service in cluster.engines:
        checks = service.use_cases.actions._quotas
        checks.quotas = replace(checks.quotas, plan_required=True)
    cluster.is_('bob')
    cluster.ask(messages.DeleteStack(retained), [exception.Forbidden])
    assert next(keystone.numbers) == made + 1


def test_a_stack_in_a_retained_one_is_deleted_and_stays_in_its_tree(cluster, keystone):
    """The stack that it is nested in is the root, with the credentials."""
    retained = retained_stack(cluster, ['outer.yaml'])
    with cluster.database.reader() as tx:
        inner = stack_trees.child(tx, retained, 'within').id
    cluster.is_('bob')
    cluster.delete(inner)
    wait(cluster, 5.0)
    assert Acting.deletes == [('bob', 'delete')] and stored(cluster) == ['bob']
    with cluster.database.reader() as tx:
        row = tx.execute(sa.select(stack.c.owner_id, stack.c.root_id, stack.c.depth).where(stack.c.id == inner)).one()
    assert tuple(row) == (retained, retained, 1)
    assert (cluster.row(retained).owner_id, cluster.row(retained).root_id) == (None, retained)
    cluster.delete(retained)
    done(cluster, retained, 'DELETE')
    assert (list(keystone.trusts.values()), stored(cluster)) == ([], [])


def test_an_administrator_of_another_project_deletes_no_retained_nested_stack(cluster, keystone):
    """It would act in the project of the administrator, with all roles there."""
    retained = retained_stack(cluster)
    cluster.context = RequestContext(project_id='of-operators', user_id='root', username='root', is_admin=True,
                                     auth_token='token of root', roles=['admin'], overwrite=False)
    refused = cluster.ask(messages.DeleteStack(retained), [exception.Forbidden])
    assert PROJECT in str(refused)
    assert (list(keystone.trusts.values()), stored(cluster), Acting.deletes) == ([], [], [])
    assert cluster.row(retained).action == 'CREATE'


def thing(kind, value='v'):
    return {**HOT, 'resources': {'r': {'type': kind, 'properties': {'value': value}}}}


def test_a_plug_in_without_a_client_acts_by_a_trust_in_each_action(cluster, keystone):
    Calling.acts = []
    stack_id = cluster.create('s', thing('Sim::Calling'))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, thing('Sim::Calling', 'w'))
    done(cluster, stack_id, 'UPDATE')
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert Calling.acts == [('CREATE', 'token of ann'), ('UPDATE', 'trust-1'), ('DELETE', 'trust-1')]
    assert not keystone.trusts


@pytest.mark.parametrize('kind, is_made', [
    ('Sim::Local', False), ('OS::Heat::RandomString', False), ('Sim::OfOurs', True), ('Sim::Thing', True)])
def test_no_trust_is_made_for_a_type_that_calls_no_service(cluster, keystone, kind, is_made):
    document = thing(kind)
    if kind == 'OS::Heat::RandomString':
        document['resources']['r'].pop('properties')
    stack_id = cluster.create('s', document)
    done(cluster, stack_id, 'CREATE')
    assert bool(keystone.trusts) is is_made
