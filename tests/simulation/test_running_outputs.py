"""What a stack in progress shows as its outputs: those of its present template, with the values of the moment."""

from __future__ import annotations

import json
from functools import partial

import pytest

from heatlite.db import stacks
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done, outputs


class Held(cloud.Thing):
    """Its actions end when its value is among `ended`."""

    ended: set[str] = set()

    def check_create_complete(self, handle):
        return self.properties[self.VALUE] in self.ended

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        super().handle_update(json_snippet, tmpl_diff, prop_diff)
        return json_snippet.properties(self.properties_schema)[self.VALUE]

    def check_update_complete(self, value):
        return value in self.ended


def template(resources, **outputs):
    return {'heat_template_version': '2018-08-31', 'resources': resources,
            'outputs': {name: {'value': value} for name, value in outputs.items()}}


def thing(value, **more):
    return {'type': 'Sim::Thing', 'properties': {'value': value}, **more}


def held(value, **more):
    return {'type': 'Test::Held', 'properties': {'value': value}, **more}


def member(**outputs):
    """The files of a nested stack: `thing` is complete while `held` is in progress."""
    return {'member.yaml': json.dumps(template(
        {'thing': thing('one'), 'held': held('held', depends_on='thing')}, **outputs))}


WITH_REFERENCE = member(**{'OS::stack_id': {'get_resource': 'thing'}})


def group(count):
    return {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': count, 'resource_def': {'type': 'member.yaml'}}}


OF_GROUP = {'map': {'get_attr': ['g', 'refs_map']}, 'refs': {'get_attr': ['g', 'refs']},
            'first': {'get_attr': ['g', 'resource.0']}, 'named': {'get_attr': ['g', 'resource.0.OS::stack_id']}}


@pytest.fixture
def it():
    Held.ended = set()
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Test::Held', Held)
        yield cluster


def until(cluster, question):
    assert cluster.universe.run(question, limit=200.0)


def in_progress(cluster, stack_id, name):
    return [(status, physical_id is not None) for _action, status, physical_id in
            cluster.states(stack_id).get(name, ())][-1:] == [('IN_PROGRESS', True)]


def shown(cluster, stack_id):
    """The outputs that engines return: the one which drives the stack, and the other one."""
    answers = []
    for runtime, service in cluster.engines:
        runtime.spawn(lambda reader=service.reader: answers.append(reader.outputs(stack_id, cluster.context)))
    until(cluster, lambda: len(answers) == len(cluster.engines))
    first, second = ({each['output_key']: each.get('output_error') or each['output_value'] for each in answer}
                     for answer in answers)
    assert first == second
    return first


def child(cluster, stack_id, name):
    return cluster.states(stack_id)[name][-1][2]


def end(cluster, stack_id, action):
    Held.ended = {'held', 'more'}
    return outputs(done(cluster, stack_id, action))


# --- an update ---------------------------------------------------------------------------------------------

BEFORE = template({'a': thing('one')}, a={'get_resource': 'a'}, dropped='before')
AFTER = template({'a': thing('one'), 'b': thing('two'), 'held': held('held', depends_on='b')},
                 a={'get_resource': 'a'}, b={'get_resource': 'b'}, held={'get_resource': 'held'}, added='after')


def test_an_update_shows_the_outputs_of_the_new_template(it):
    stack_id = it.create('s', BEFORE)
    first = outputs(done(it, stack_id, 'CREATE'))
    it.update(stack_id, AFTER)
    until(it, partial(in_progress, it, stack_id, 'held'))
    found = shown(it, stack_id)
    assert found == {'a': first['a'], 'b': child(it, stack_id, 'b'), 'held': child(it, stack_id, 'held'),
                     'added': 'after'}
    assert end(it, stack_id, 'UPDATE') == found


def test_an_accepted_update_shows_its_outputs_before_any_engine_has_begun_it(it):
    stack_id = it.create('s', AFTER)
    until(it, partial(in_progress, it, stack_id, 'held'))
    it.update(stack_id, BEFORE)
    assert set(shown(it, stack_id)) == {'a', 'dropped'}
    Held.ended = {'held'}
    done(it, stack_id, 'UPDATE')


def test_a_rollback_shows_the_outputs_of_the_former_template(it):
    stack_id = it.create('s', template({'a': thing('one')}, former='former'))
    done(it, stack_id, 'CREATE')
    broken = thing('two')
    broken['properties']['fail'] = True
    it.update(stack_id, template({'a': thing('one'), 'held': held('held'),
                                  'b': {**broken, 'depends_on': 'held'}}, latter='latter'), disable_rollback=False)
    until(it, partial(in_progress, it, stack_id, 'held'))
    assert shown(it, stack_id) == {'latter': 'latter'}
    Held.ended = {'held'}
    assert outputs(done(it, stack_id, 'ROLLBACK')) == {'former': 'former'}


def test_a_failed_update_shows_the_outputs_of_its_template(it):
    stack_id = it.create('s', template({'a': thing('one')}, dropped='before'))
    done(it, stack_id, 'CREATE')
    broken = thing('two')
    broken['properties']['fail'] = True
    it.update(stack_id, template({'a': thing('one'), 'b': broken}, a={'get_resource': 'a'},
                                 b={'get_attr': ['b', 'show']}))
    row = it.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert outputs(row) == shown(it, stack_id) == {'a': child(it, stack_id, 'a'), 'b': None}


# --- nested stacks -----------------------------------------------------------------------------------------

@pytest.mark.parametrize('files, expected', [
    (WITH_REFERENCE, 'output'), (member(), 'arn'),
    (member(**{'OS::stack_id': None}), 'arn'),
    (member(**{'OS::stack_id': {'get_resource': 'held'}}), 'held'),
], ids=['output', 'without output', 'null', 'in progress'])
def test_the_reference_of_a_template_resource_in_progress(it, files, expected):
    stack_id = it.create('s', template({'c': {'type': 'member.yaml'}}, c={'get_resource': 'c'}), files=files)
    until(it, lambda: 'c' in it.states(stack_id) and child(it, stack_id, 'c') is not None
          and in_progress(it, child(it, stack_id, 'c'), 'held'))
    row = it.row(child(it, stack_id, 'c'))
    references = {'output': child(it, row.id, 'thing'), 'held': child(it, row.id, 'held'),
                  'arn': f'arn:openstack:heat::p:stacks/{row.name}/{row.id}'}
    assert shown(it, stack_id) == {'c': references[expected]}
    assert end(it, stack_id, 'CREATE') == {'c': references[expected]}


def test_the_outputs_of_a_template_resource_in_progress(it):
    inner = json.loads(member(value={'get_resource': 'thing'},
                              bad={'digest': [{'get_param': 'secret'}, 'text']})['member.yaml'])
    inner['parameters'] = {'secret': {'type': 'string', 'hidden': True}}
    outer = template({'c': {'type': 'member.yaml', 'properties': {'secret': {'get_param': 'secret'}}}},
                     **{name: {'get_attr': ['c', name]} for name in inner['outputs']})
    outer['parameters'] = {'secret': {'type': 'string', 'hidden': True, 'default': 's3cret'}}
    stack_id = it.create('s', outer, files={'member.yaml': json.dumps(inner)})
    until(it, lambda: 'c' in it.states(stack_id) and child(it, stack_id, 'c') is not None
          and in_progress(it, child(it, stack_id, 'c'), 'held'))
    found = shown(it, stack_id)
    assert found['value'] == child(it, child(it, stack_id, 'c'), 'thing')
    assert found['bad'].startswith('Error in c output bad: ') and 's3cret' not in found['bad']
    Held.ended = {'held'}
    done(it, stack_id, 'CREATE')
    assert shown(it, stack_id) == found


def test_an_output_that_an_update_adds_to_a_template_resource(it):
    def outer(**outputs):
        return template({'c': {'type': 'member.yaml'}}, **outputs)

    Held.ended = {'held'}
    stack_id = it.create('s', outer(), files=member())
    done(it, stack_id, 'CREATE')
    Held.ended = set()
    inner = template({'thing': thing('two'), 'held': held('more', depends_on='thing')},
                     value={'get_resource': 'thing'})
    it.update(stack_id, outer(value={'get_attr': ['c', 'value']}), files={'member.yaml': json.dumps(inner)})
    nested = child(it, stack_id, 'c')
    until(it, partial(in_progress, it, nested, 'held'))
    assert shown(it, stack_id) == shown(it, nested) == {'value': child(it, nested, 'thing')}
    end(it, stack_id, 'UPDATE')


def members_wait(cluster, stack_id, count):
    """Whether `count` members of the group are at what is held."""
    nested = cluster.states(stack_id).get('g', [(0, 0, None)])[-1][2]
    members = cluster.states(nested) if nested is not None else {}
    return len(members) == count and all(
        found[-1][2] is not None and cluster.states(found[-1][2]).get('held', [('', '', None)])[-1][2] is not None
        for found in members.values())


def references(cluster, stack_id):
    nested = child(cluster, stack_id, 'g')
    return {name: child(cluster, found[-1][2], 'thing') for name, found in cluster.states(nested).items()}


def test_a_group_of_templates_that_is_created(it):
    stack_id = it.create('s', template({'g': group(2)}, **OF_GROUP), files=WITH_REFERENCE)
    until(it, lambda: members_wait(it, stack_id, 2))
    expected = references(it, stack_id)
    found = shown(it, stack_id)
    assert found == {'map': expected, 'refs': list(expected.values()), 'first': expected['0'], 'named': expected['0']}
    assert shown(it, child(it, stack_id, 'g'))['refs_map'] == expected
    assert end(it, stack_id, 'CREATE') == found


def test_a_group_that_grows(it):
    Held.ended = {'held'}
    stack_id = it.create('s', template({'g': group(1)}, **OF_GROUP), files=WITH_REFERENCE)
    done(it, stack_id, 'CREATE')
    Held.ended = set()
    it.update(stack_id, template({'g': group(2)}, **OF_GROUP), files=WITH_REFERENCE)
    until(it, lambda: members_wait(it, stack_id, 2))
    expected = references(it, stack_id)
    assert shown(it, child(it, stack_id, 'g'))['refs_map'] == expected
    assert shown(it, stack_id)['map'] == expected
    assert end(it, stack_id, 'UPDATE')['map'] == expected


def test_the_text_none_is_no_reference(it):
    Held.ended = {'held'}
    stack_id = it.create('s', template({'g': group(1), 'b': thing({'get_attr': ['g', 'resource.0']})},
                                       first={'get_attr': ['g', 'resource.0']}),
                         files=member(**{'OS::stack_id': None}))
    found = outputs(done(it, stack_id, 'CREATE'))
    with it.database.reader() as tx:
        row = stacks.get(tx, child(it, child(it, stack_id, 'g'), '0'))
    assert found == {'first': f'arn:openstack:heat::p:stacks/{row.name}/{row.id}'}
    assert 'None' not in [each['value'] for each in it.cloud.objects.values()]


# --- an action that has failed, or was cancelled, while steps of it go on ----------------------------------

def failing(**more):
    return {'type': 'Sim::Thing', 'properties': {'fail': True}, **more}


def stored(cluster, stack_id):
    return outputs(cluster.row(stack_id))


def ended(cluster, stack_id, state):
    until(cluster, lambda: (cluster.row(stack_id).action, cluster.row(stack_id).status) == state)
    return stored(cluster, stack_id)


def test_a_create_that_has_failed_shows_its_outputs_at_once(it):
    stack_id = it.create('s', template({'a': thing('one'), 'held': held('held'), 'f': failing(depends_on='a')},
                                       a={'get_resource': 'a'}, word='one'))
    found = ended(it, stack_id, ('CREATE', 'FAILED'))
    assert in_progress(it, stack_id, 'held')
    assert found == {'a': child(it, stack_id, 'a'), 'word': 'one'}


@pytest.mark.parametrize('is_cancelled', [True, False])
def test_an_update_that_has_ended_early_shows_the_outputs_of_the_new_template(it, is_cancelled):
    stack_id = it.create('s', BEFORE)
    done(it, stack_id, 'CREATE')
    more = {} if is_cancelled else {'f': failing(depends_on='b')}
    it.update(stack_id, {**AFTER, 'resources': {**AFTER['resources'], **more}})
    until(it, lambda: in_progress(it, stack_id, 'held'))
    if is_cancelled:
        it.ask(messages.CancelStack(stack_id, rollback=False))
    found = ended(it, stack_id, ('UPDATE', 'FAILED'))
    if is_cancelled:
        until(it, lambda: 'added' in stored(it, stack_id))
        found = stored(it, stack_id)
    assert in_progress(it, stack_id, 'held')
    assert set(found) == {'a', 'b', 'held', 'added'} and found['added'] == 'after'


def test_outputs_after_a_replacement_that_has_failed_are_of_what_is_shown(it):
    fixed = {'type': 'Sim::Thing', 'properties': {'value': 'one', 'fixed': 'x'}}
    stack_id = it.create('s', template({'a': fixed}, a={'get_resource': 'a'}))
    before = outputs(done(it, stack_id, 'CREATE'))
    it.update(stack_id, template({'a': {'type': 'Sim::Thing', 'properties': {'fixed': 'y', 'fail': True}}},
                                 a={'get_resource': 'a'}))
    row = it.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert outputs(row) == before
