"""A service that does not answer for a while costs time, not the stack; one that says a final no is believed."""

from __future__ import annotations

import json
import logging

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine import attributes
from heatlite.engine.reconcile import service_errors
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done, kill_engines_in, outputs


class Shaky(cloud.Thing):
    """Reaches its cloud through a service that can be away."""

    @staticmethod
    def _knock():
        if cloud.CLOUD.away_until > cloud.CLOUD.now():
            cloud.CLOUD.tries += 1
            raise cloud.CLOUD.failure()

    def handle_create(self):
        self._knock()
        return super().handle_create()

    def find_existing(self):
        self._knock()
        return super().find_existing()

    def check_create_complete(self, handle):
        self._knock()
        return super().check_create_complete(handle)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._knock()
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)

    def handle_delete(self):
        self._knock()
        return super().handle_delete()


def refused():
    return exceptions.ConnectFailure('Unable to establish connection to http://here: ECONNREFUSED')


@pytest.fixture
def cluster():
    with Cluster(engines=1) as found:
        for _runtime, service in found.engines:
            service.registry.register('Sim::Shaky', Shaky)
        found.cloud.now = lambda: found.universe.time
        found.cloud.away_until, found.cloud.tries, found.cloud.failure = 0, 0, refused
        yield found


def template(value='one', count=3):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'Sim::Shaky', 'properties': {'value': value}} for number in range(count)}}


@pytest.mark.parametrize('failure', [refused, lambda: exceptions.ServiceUnavailable('try later'),
                                     lambda: exceptions.BadGateway('nobody there')])
def test_each_action_waits_for_the_service(cluster, failure, caplog):
    cluster.cloud.failure = failure
    caplog.set_level(logging.DEBUG, 'heatlite.engine.reconcile.step_waits')
    cluster.cloud.away_until = cluster.universe.time + 60
    stack_id = cluster.create('s', template())
    done(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.made) == 3 and cluster.cloud.tries >= 3
    cluster.cloud.away_until = cluster.universe.time + 60
    cluster.update(stack_id, template('two'))
    done(cluster, stack_id, 'UPDATE')
    assert {each['value'] for each in cluster.cloud.objects.values()} == {'two'} and len(cluster.cloud.made) == 3
    cluster.cloud.away_until = cluster.universe.time + 60
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert not cluster.cloud.objects
    waiting = [each for each in caplog.records if 'does not answer' in each.getMessage()]
    assert len(waiting) == 9 and not any(each.exc_info for each in caplog.records)
    assert 1 <= len([each for each in waiting if each.levelno == logging.WARNING]) <= 3     # of three outages


def test_the_stack_s_time_is_the_limit(cluster):
    """And what is told of the resource is the failure of the call, not only that time is up."""
    cluster.cloud.away_until = cluster.universe.time + 10_000
    stack_id = cluster.create('s', template(count=1), timeout_mins=2)
    row = cluster.settle(stack_id)
    assert (row.status, row.reason) == ('FAILED', 'Timed out')
    with cluster.database.reader() as tx:
        reason = tx.exec_driver_sql('SELECT reason FROM resource WHERE stack_id = ?', (stack_id,)).scalar()
    assert 'ECONNREFUSED' in reason
    cluster.cloud.away_until = 0
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')


class Searching(Shaky):
    """Its search fails in other words than its create."""

    def find_existing(self):
        try:
            return super().find_existing()
        except exceptions.ConnectFailure:
            raise exceptions.ConnectFailure('Unable to establish connection to http://here/search') from None


def test_the_failure_names_the_request_that_was_to_change_something(cluster):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Searching', Searching)
    cluster.cloud.away_until = cluster.universe.time + 10_000
    wanted = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Searching'}}}
    stack_id = cluster.create('s', wanted, timeout_mins=2)
    cluster.settle(stack_id)
    with cluster.database.reader() as tx:
        reason = tx.exec_driver_sql('SELECT reason FROM resource WHERE stack_id = ?', (stack_id,)).scalar()
    assert cluster.cloud.tries > 1 and 'ECONNREFUSED' in reason and 'search' not in reason


def test_a_failed_neighbour_ends_the_waiting(cluster):
    cluster.cloud.away_until = cluster.universe.time + 1_000
    wanted = template(count=1)
    wanted['resources']['bad'] = {'type': 'Sim::Thing', 'properties': {'fail': True}}
    stack_id = cluster.create('s', wanted)
    row = cluster.settle(stack_id)
    assert row.status == 'FAILED' and cluster.universe.time < cluster.cloud.away_until


@pytest.mark.parametrize('text, final', [
    ("Quota exceeded for resources: ['port'].", True), ('Multiple possible networks found, use a Network ID', True),
    ('Unable to complete operation on subnet: One or more ports have an IP allocation from this subnet.', False),
    ('The server is currently being built', False), ('Maximum number of key pairs exceeded', True),
    ('The Stack (app) already exists.', True), ('Maximum number of ' * 1000 + 'key pairs exceeded', False)])
def test_which_conflicts_are_final(text, final):
    assert service_errors.is_final(exceptions.Conflict(text)) is final


class Broken(Shaky):
    """Its object goes into an error state."""

    def check_create_complete(self, handle):
        raise exception.ResourceInError(resource_status='ERROR', status_reason='No valid host was found.')


def test_an_object_in_error_is_named_by_its_id(cluster):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Broken', Broken)
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Broken'}}})
    row = cluster.settle(stack_id)
    assert row.status == 'FAILED'
    assert 'Went to status ERROR due to "No valid host was found." (id obj-1)' in row.reason
    assert len(cluster.cloud.made) == 6, 'each try is polled: the first one and five more'


def test_an_expected_conflict_is_logged_without_traceback(cluster, caplog):
    """As for a subnet that still waits for its port."""
    stack_id = cluster.create('s', template(count=1))
    done(cluster, stack_id, 'CREATE')
    cluster.cloud.away_until = cluster.universe.time + 10_000
    cluster.cloud.failure = lambda: exceptions.Conflict('One or more ports have an IP allocation from this subnet.')
    caplog.set_level(logging.INFO)
    cluster.delete(stack_id)
    assert 'IP allocation' in cluster.settle(stack_id).reason and cluster.cloud.tries
    assert not [each for each in caplog.records if each.exc_info or 'Traceback' in each.getMessage()]
    cluster.cloud.away_until = 0
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')


class Leaving(Shaky):
    """Its service answers the create, and nothing for a minute from then on."""

    def handle_create(self):
        found = super().handle_create()
        cloud.CLOUD.away_until = cloud.CLOUD.now() + 60
        return found


class Lost(Shaky):
    """The answer to its create is an error, although it has made the object; then its service is away."""

    def handle_create(self):
        super().handle_create()
        self.resource_id_set(None)
        cloud.CLOUD.away_until = cloud.CLOUD.now() + 60
        raise exception.Error('no answer')


@pytest.mark.parametrize('kind', [Leaving, Lost])
def test_a_service_that_leaves_between_the_create_and_the_next_call(cluster, kind):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Leaving', kind)
    wanted = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Leaving'}}}
    stack_id = cluster.create('s', wanted)
    done(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.made) == 1 and cluster.cloud.tries
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert not cluster.cloud.objects


class Impatient(Shaky):
    """Does not wait for its service as long as the stack may take."""

    away_patience = 20.0


@pytest.mark.parametrize('kind', [Impatient, type('ImpatientLeaving', (Impatient, Leaving), {})])
def test_a_type_may_bound_how_long_it_waits(cluster, kind):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Impatient', kind)
    if kind is Impatient:
        cluster.cloud.away_until = cluster.universe.time + 60
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::Impatient'}}})
    row = cluster.settle(stack_id)
    assert row.status == 'FAILED' and 'ECONNREFUSED' in row.reason
    assert cluster.universe.time < cluster.cloud.away_until
    cluster.cloud.away_until = 0
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert not cluster.cloud.objects


class AwayAfterDeath(Shaky):
    """Its service does not answer the first searches, which only an interrupted create needs."""

    def find_existing(self):
        cloud.CLOUD.tries += 1
        if cloud.CLOUD.tries < 4:
            raise refused()
        return super().find_existing()


def interrupted(cluster):
    cluster.cloud.now = lambda: cluster.universe.time
    cluster.cloud.away_until, cluster.cloud.tries, cluster.cloud.failure = 0, 0, refused
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::AwayAfterDeath'}}})
    done(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.objects) == 1
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert not cluster.cloud.objects


def test_a_search_after_a_crash_waits_for_the_service(monkeypatch):
    types = {**cloud.resource_mapping(), 'Sim::AwayAfterDeath': AwayAfterDeath}
    monkeypatch.setattr(cloud, 'resource_mapping', lambda: types)       # also for engines that start later
    assert kill_engines_in(interrupted, stride=2) > 10


class Outgrown(Shaky):
    """Its handler of updates asks for a replacement, once its service answers."""

    def handle_create(self):
        if cloud.CLOUD.is_full:
            raise exception.Error('the quota is used up')
        return super().handle_create()

    def find_existing(self):
        cloud.CLOUD.searches += 1
        return super().find_existing()

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._knock()
        raise exception.UpdateReplace(self.name)


@pytest.mark.parametrize('is_full', [False, True])
def test_a_replacement_knows_nothing_of_the_outage_before_it(cluster, is_full):
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Outgrown', Outgrown)
    wanted = {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::Outgrown', 'properties': {'value': 'one'}}}}
    cluster.cloud.is_full = False
    stack_id = cluster.create('s', wanted)
    done(cluster, stack_id, 'CREATE')
    cluster.cloud.away_until, cluster.cloud.is_full, cluster.cloud.searches = cluster.universe.time + 20, is_full, 0
    wanted['resources']['r']['properties']['value'] = 'two'
    cluster.update(stack_id, wanted)
    row = cluster.settle(stack_id)
    assert cluster.cloud.tries
    if is_full:
        assert row.reason == 'Resource CREATE failed: Error: resources.r: the quota is used up'
    else:
        assert (row.action, row.status, len(cluster.cloud.made)) == ('UPDATE', 'COMPLETE', 2), row.reason
        assert not cluster.cloud.searches, 'a first create looks for nothing'


class Particular(Shaky):
    """Its own check refuses a name that exists, as plug-ins' checks may. The answer to its create is lost."""

    def validate(self):
        found = super().validate()
        if not self.t.deferred:
            cloud.CLOUD.checks.append(self.name)
            self._knock()
            if cloud.CLOUD.find(self.runtime, self.physical_resource_name()) is not None:
                raise exception.StackValidationFailed(message='the name exists')
        return found

    def handle_create(self):
        super().handle_create()
        self.resource_id_set(None)
        raise refused()


class Rechecked(Particular):
    validates_at_creation = True

    def validate(self):
        return super().validate()


class OfOthers(Rechecked):
    """A plug-in that extends a type, with a check of its own."""

    def validate(self):
        return super().validate()


def created(cluster, kind):
    """Create a resource of a type, whose property is known only then, and return how often it was checked by then."""
    cluster.cloud.checks = []
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Kind', kind)
    stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
        'first': {'type': 'Sim::Thing'},
        'r': {'type': 'Sim::Kind', 'properties': {'value': {'get_resource': 'first'}}}}})
    done(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.made) == 2
    return len(cluster.cloud.checks)


def test_a_type_s_own_check_never_meets_an_object_whose_answer_was_lost(cluster):
    assert created(cluster, Rechecked) == 1


def test_a_check_that_no_service_answered_is_repeated(cluster):
    cluster.cloud.away_until = cluster.universe.time + 60
    assert created(cluster, Rechecked) > 1


@pytest.mark.parametrize('kind', [Particular, OfOthers])
def test_only_types_that_say_so_are_checked_again_at_the_creation(cluster, kind):
    assert created(cluster, kind) == 0


class Shown(Shaky):
    """Its attribute is read anew each time, from a service that can be away."""

    attributes_schema = {'now': attributes.Schema('Read anew.', cache_mode=attributes.Schema.CACHE_NONE)}

    def handle_create(self):
        found = super().handle_create()
        cloud.CLOUD.away_until = cloud.CLOUD.now() + 60
        return found

    def check_create_complete(self, handle):
        return cloud.CLOUD.is_quick or cloud.Thing.check_create_complete(self, handle)

    def _resolve_any_attribute(self, attr):
        self._knock()
        return 'value'


@pytest.mark.parametrize('is_quick', [False, True])
def test_a_reference_that_is_an_output_of_a_nested_stack_waits_for_the_service(cluster, is_quick):
    """Whether or not the nested stack is complete at the first check."""
    cluster.cloud.is_quick = is_quick
    for _runtime, service in cluster.engines:
        service.registry.register('Sim::Shown', Shown)

    def level(kind, output):
        return {'heat_template_version': '2018-08-31', 'resources': {'inner': {'type': kind}},
                'outputs': {'OS::stack_id': {'value': output}}}

    files = {'inner.yaml': json.dumps(level('Sim::Shown', {'get_attr': ['inner', 'now']}))}
    stack_id = cluster.create('s', level('inner.yaml', {'get_resource': 'inner'}), files=files)
    row = done(cluster, stack_id, 'CREATE')
    assert outputs(row) == {'OS::stack_id': 'value'} and cluster.cloud.tries > 1


def test_an_output_that_a_service_refuses_is_not_waited_for():
    def refuse(cause):
        try:
            raise exception.TemplateOutputError(resource='r', attribute='a', message='m') from cause
        except exception.TemplateOutputError as error:
            return error

    assert service_errors.is_away(refuse(refuse(refused())))
    assert not service_errors.is_away(refuse(exceptions.Forbidden('no'))) and not service_errors.is_away(refuse(None))
