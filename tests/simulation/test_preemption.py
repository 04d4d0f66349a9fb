"""A newer update does not wait for what an older one still does in nested stacks: it ends that and goes on.

Each older update here would take longer than a stack may take.
"""

from __future__ import annotations

import json
import logging

import pytest

from heatlite.engine import properties, resource
from heatlite.engine.resources.openstack.heat.resource_group import ResourceGroup
from heatlite.planning import text
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, kill_engines_in, wait
from tests.simulation.test_nested import child_of, group, rolling, template

FOR_EVER = 100_000
SLOW = {'type': 'OS::Heat::TestResource', 'properties': {
    'value': {'get_param': 'value'}, 'action_wait_secs': {'update': FOR_EVER}}}


def slow(value):
    """A template whose update does not end."""
    return json.dumps({**template({'slow': SLOW}), 'parameters': {'value': {'type': 'string', 'default': value}}})


def empty():
    return json.dumps(template({}))


def plain(value):
    return template({'n': {'type': 'slow.yaml'}}), {'slow.yaml': slow(value) if value else empty()}


def twice_nested(value):
    """Of Heat's functional tests: the newer update preempts the outer stack, which deletes the inner one."""
    middle = template({'m': {'type': 'slow.yaml'}} if value else {})
    return template({'n': {'type': 'middle.yaml'}}), {'middle.yaml': json.dumps(middle),
                                                      **({'slow.yaml': slow(value)} if value else {})}


def aliased(value):
    _, files = plain(value)
    return template({'n': {'type': 'My::Alias'}}), {**files, 'environment': {
        'resource_registry': {'My::Alias': 'slow.yaml'}}}


def of_amazon(value):
    return template({'n': {'type': 'AWS::CloudFormation::Stack', 'properties': {'TemplateURL': 'slow.yaml'}}}), {
        'slow.yaml': slow(value) if value else empty()}


def in_group(value):
    return template({'n': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 2 if value else 0, 'resource_def': {'type': 'slow.yaml'}}}}), {'slow.yaml': slow(value or '')}


def in_scaling_group(value):
    return template({'n': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 0, 'max_size': 3, 'desired_capacity': 2 if value else 0, 'resource': {'type': 'slow.yaml'}}}}), {
            'slow.yaml': slow(value or '')}


def in_chain(value):
    return template({'n': {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['slow.yaml', 'slow.yaml'] if value else []}}}), {'slow.yaml': slow(value or '')}


INNERMOST = (plain, aliased, of_amazon)     # what they have inside is no stack: a newer update waits for it
OF_STACKS = (twice_nested, in_group, in_scaling_group, in_chain)
KINDS = (*INNERMOST, *OF_STACKS)


def update(place, stack_id, wanted, **options):
    template, files = wanted
    files = dict(files)
    environment = files.pop('environment', {})
    place.ask(messages.UpdateStack(stack_id=stack_id, template=template, environment=environment, files=files,
                                         **options))


def create(place, wanted):
    template, files = wanted
    files = dict(files)
    return place.create('s', template, files.pop('environment', {}), files=files)


def ended_well(place, stack_id, action):
    """Without having waited for what takes for ever."""
    assert place.universe.run(lambda: place.row(stack_id).status != 'IN_PROGRESS', limit=400), (
        f'still waits: {place.states(stack_id)}')
    row = place.settle(stack_id)
    assert (row.action, row.status) == (action, 'COMPLETE'), row.reason


def is_slow(place):
    """Somewhere in the tree the update that takes for ever has begun."""
    with place.database.reader() as tx:
        return bool(tx.exec_driver_sql(
            "SELECT count(*) FROM resource WHERE name = 'slow' AND action = 'UPDATE' AND status = 'IN_PROGRESS'"
        ).scalar())


def overtaken(kind, place):
    place.chaos.enabled = False
    stack_id = create(place, kind('one'))
    ended_well(place, stack_id, 'CREATE')
    update(place, stack_id, kind('two'))
    assert place.universe.run(lambda: is_slow(place), limit=100)
    child = child_of(place, stack_id, 'n')
    place.chaos.enabled = True
    update(place, stack_id, kind(None))
    assert place.universe.run(lambda: (place.row(child.id).action, place.row(child.id).template_id)
                              not in [('UPDATE', child.template_id)], limit=400)
    if kind in INNERMOST:
        return
    ended_well(place, stack_id, 'UPDATE')
    child = child_of(place, stack_id, 'n')
    assert (child.action, child.status) == ('UPDATE', 'COMPLETE') and place.states(child.id) == {}
    with place.database.reader() as tx:
        left = tx.exec_driver_sql("SELECT name FROM stack WHERE deleted_at IS NULL AND status != 'COMPLETE'").all()
    assert not left, 'nothing of the older update goes on'


@pytest.mark.parametrize('kind', KINDS)
def test_a_newer_update_preempts_the_updates_of_nested_stacks(kind):
    with Cluster() as place:
        overtaken(kind, place)


@pytest.mark.parametrize('kind', [twice_nested, in_group])
def test_wherever_the_nested_stacks_are_driven(kind):
    """Engines with room for one stack each: what is nested is driven by others."""
    with Cluster(engines=6, **{'engine.max_stacks': 1}) as place:
        overtaken(kind, place)


@pytest.mark.parametrize('kind', [twice_nested, in_group])
def test_and_whoever_is_killed_meanwhile(kind):
    def life(place):
        overtaken(kind, place)

    assert kill_engines_in(life, 5, from_the_start=False) > 5


@pytest.mark.parametrize('kind', KINDS)
def test_a_nested_stack_that_is_not_wanted_any_more_is_not_waited_for(kind):
    with Cluster() as place:
        stack_id = create(place, kind('one'))
        ended_well(place, stack_id, 'CREATE')
        update(place, stack_id, kind('two'))
        assert place.universe.run(lambda: is_slow(place), limit=100)
        update(place, stack_id, (template({}), {}))
        ended_well(place, stack_id, 'UPDATE')
        assert place.states(stack_id) == {}


def test_a_rollback_preempts_them_too():
    with Cluster() as place:
        wanted, files = plain('one')
        stack_id = create(place, (wanted, files))
        ended_well(place, stack_id, 'CREATE')
        failing = template({**wanted['resources'], 'f': {
            'type': 'OS::Heat::TestResource', 'properties': {'fail': True, 'wait_secs': 30}}})
        update(place, stack_id, (failing, plain('two')[1]), disable_rollback=False)
        assert place.universe.run(lambda: place.row(stack_id).action == 'ROLLBACK', limit=100)
        child = child_of(place, stack_id, 'n')
        assert place.universe.run(lambda: place.row(child.id).generation > 2, limit=100), 'it waits for the update'


def test_a_create_is_preempted_too():
    never = template({'n': {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': FOR_EVER}}})
    with Cluster() as place:
        stack_id = create(place, (template({'n': {'type': 'never.yaml'}}), {'never.yaml': json.dumps(never)}))
        assert place.universe.run(lambda: bool(place.states(stack_id)['n'][0][2]), limit=100)
        update(place, stack_id, (template({'n': {'type': 'never.yaml'}}), {'never.yaml': empty()}))
        child = child_of(place, stack_id, 'n')
        assert place.universe.run(lambda: place.row(child.id).action == 'UPDATE', limit=100), 'it waits for the create'


@pytest.mark.parametrize('kind', ['OS::Heat::ResourceGroup', 'OS::Heat::AutoScalingGroup'])
@pytest.mark.parametrize('moment', ['batch', 'pause'])
def test_a_rolling_update_is_preempted_also_between_two_batches(kind, moment):
    """And the newer one reaches every member, those of the batches that were done included."""
    def wanted(value):
        if kind == 'OS::Heat::ResourceGroup':
            return group(4, value, rolling(largest=1, in_service=4, pause=500))
        return template({'g': {'type': kind, 'properties': {
            'min_size': 2, 'max_size': 9, 'desired_capacity': 4,
            'resource': {'type': 'Sim::Thing', 'properties': {'value': value}},
            'rolling_updates': {'max_batch_size': 1, 'min_in_service': 4, 'pause_time': 500}}}})

    def quickly(value):
        found = wanted(value)
        found['resources']['g'].pop('update_policy', None)
        found['resources']['g']['properties'].pop('rolling_updates', None)
        return found

    with Cluster() as place:
        stack_id = place.create('s', wanted('one'))
        ended_well(place, stack_id, 'CREATE')
        child = child_of(place, stack_id, 'g')
        place.update(stack_id, wanted('two'))
        status = 'IN_PROGRESS' if moment == 'batch' else 'COMPLETE'

        def is_there():
            now = place.row(child.id)
            return (now.action, now.status) == ('UPDATE', status)

        assert place.universe.run(is_there, limit=100)
        place.update(stack_id, quickly('three'))
        ended_well(place, stack_id, 'UPDATE')
        found = [each['value'] for each in place.cloud.objects.values()]
        assert len(found) == 4, found
        if kind == 'OS::Heat::ResourceGroup':       # members of a scaling group without a policy keep their definition
            assert found == ['three'] * 4


class LateGroup(ResourceGroup):
    """Ends the work in its nested stack only after that has ended by itself. `stands_still`: with its engine."""

    stands_still = False
    late = 0

    def handle_preempt(self):
        here = self.runtime
        if self.stands_still:
            here.frozen_until = here.universe.time + 30.0
            here.give_way()
        else:
            here.sleep(30.0)
        type(self).late += 1
        return super().handle_preempt()


@pytest.mark.parametrize('stands_still', [False, True], ids=['thread', 'engine'])
@pytest.mark.parametrize('seed', range(2))
def test_a_late_preemption_does_not_end_the_newer_update(seed, stands_still, monkeypatch):
    def wanted(value, seconds):
        return template({'g': {'type': 'My::LateGroup', 'properties': {'count': 2, 'resource_def': {
            'type': 'OS::Heat::TestResource', 'properties': {
                'value': value, 'action_wait_secs': {'update': seconds}}}}}})

    monkeypatch.setattr(LateGroup, 'stands_still', stands_still)
    monkeypatch.setattr(LateGroup, 'late', 0)
    with Cluster(seed) as place:
        for _, service in place.engines:
            service.registry.register('My::LateGroup', LateGroup)
        stack_id = place.create('s', wanted('first', 0))
        ended_well(place, stack_id, 'CREATE')
        child = child_of(place, stack_id, 'g')
        place.update(stack_id, wanted('second', 10))
        assert place.universe.run(lambda: place.row(child.id).action == 'UPDATE', limit=100)
        place.update(stack_id, wanted('third', 60))
        ended_well(place, stack_id, 'UPDATE')
        assert LateGroup.late or stands_still, 'nothing was late'
        failed = {event[3] for event in place.events(child.id) if event[1:3] == ('UPDATE', 'FAILED')}
        # An engine that stands still for so long loses its stacks: its steps were interrupted, as by its death.
        assert failed <= ({text.INTERRUPTED % 'UPDATE'} if stands_still else set())


# --- types of others ---------------------------------------------------------------------------------------

class Hurried(resource.Resource):
    """Its update ends when handle_preempt is called."""

    PROPERTIES = (VALUE,) = ('value',)
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}
    hurried: set[str] = set()               # ids of things whose handle_preempt was called
    updates: list[str] = []                 # what they were updated to

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self.updates.append(prop_diff[self.VALUE])
        return prop_diff[self.VALUE]

    def check_update_complete(self, value):
        return value == 'last' or self.resource_id in self.hurried

    def handle_preempt(self):
        self.hurried.add(self.resource_id)


def test_a_type_hears_that_a_newer_update_waits():
    Hurried.hurried.clear()
    Hurried.updates.clear()

    def wanted(value):
        return template({'h': {'type': 'My::Hurried', 'properties': {'value': value}}})

    with Cluster() as place:
        for _, service in place.engines:
            service.registry.register('My::Hurried', Hurried)
        stack_id = place.create('s', wanted('first'))
        ended_well(place, stack_id, 'CREATE')
        place.update(stack_id, wanted('second'))
        assert place.universe.run(lambda: place.states(stack_id)['h'][0][:2] == ('UPDATE', 'IN_PROGRESS'), limit=100)
        place.update(stack_id, wanted('last'))
        ended_well(place, stack_id, 'UPDATE')
        assert Hurried.updates == ['second', 'last']


class Pondering(resource.Resource):
    """Takes a minute to say whether it needs an update, if it is the first."""

    PROPERTIES = (VALUE,) = ('value',)
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def _needs_update(self, *arguments, **named):
        if self.name == 'a':
            self.runtime.sleep(60.0)
        return super()._needs_update(*arguments, **named)


def test_what_an_older_update_has_not_compared_yet_is_not_compared(caplog):
    def wanted(value, *names):
        return template({name: {'type': 'My::Pondering', 'properties': {'value': value}} for name in names})

    with Cluster(engines=1, **{'engine.runner_pool_size': 1}) as place:
        for _, service in place.engines:
            service.registry.register('My::Pondering', Pondering)
        stack_id = place.create('s', wanted('first', 'a', 'b'))
        ended_well(place, stack_id, 'CREATE')
        place.update(stack_id, wanted('second', 'a', 'b'))
        wait(place, 10.0)
        place.update(stack_id, wanted('third', 'a'))
        ended_well(place, stack_id, 'UPDATE')
        assert list(place.states(stack_id)) == ['a']
    assert not [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


class Plain(resource.Resource):
    PROPERTIES = (VALUE,) = ('value',)
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        pass


@pytest.mark.parametrize('seed', range(40, 60))
def test_a_newer_update_comes_while_an_older_one_compares(caplog, seed):
    """A comparison may also wait for the lease, and a newer definition is taken while its permissions are read."""
    def wanted(value, names):
        return template({name: {'type': 'My::Plain', 'properties': {'value': value}} for name in names})

    with Cluster(seed) as place:
        for _, service in place.engines:
            service.registry.register('My::Plain', Plain)
        stack_id = place.create('s', wanted('first', 'abcdef'))
        ended_well(place, stack_id, 'CREATE')
        place.update(stack_id, wanted('second', 'abcdef'))
        wait(place, 0.01 * (seed % 4))
        place.update(stack_id, wanted('third', 'ab'))
        ended_well(place, stack_id, 'UPDATE')
        assert sorted(place.states(stack_id)) == ['a', 'b']
    assert not [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
