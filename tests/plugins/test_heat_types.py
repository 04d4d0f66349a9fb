"""The types of OS::Heat::* that need no service: their handlers, and their lives."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from heatlite.engine.resource import Resource
from heatlite.engine.resources import packed
from tests.plugins.bench import Bench

HANDLERS = {                                # type -> handlers of its own, besides that for the deletion
    'OS::Heat::Delay': {'handle_create', 'check_create_complete', 'check_delete_complete', 'handle_suspend',
                        'check_suspend_complete', 'handle_resume', 'check_resume_complete'},
    'OS::Heat::None': {'handle_create'},
    'OS::Heat::RandomString': {'handle_create'},
    'OS::Heat::TestResource': {'handle_create', 'check_create_complete', 'handle_update', 'check_update_complete',
                               'check_delete_complete', 'handle_check'},
    'OS::Heat::Value': {'handle_create', 'handle_update'},
}


@pytest.mark.parametrize('name', HANDLERS)
def test_the_class_has_its_handlers(types, name):
    """What the class looks like is compared in tests/plugins/rest/test_parity.py."""
    kind = types.resolve(name, 'r')
    assert HANDLERS[name] <= set(vars(kind))
    assert kind.__doc__ and kind.idempotent_create
    assert (kind.default_client_name, kind.entity) == (None, None)
    assert dict(kind.update_policy_schema) == {}


def test_no_type_hides_the_actions_and_statuses_of_all(types):
    """`state_set` refused every action of a SoftwareComponent: its ACTIONS were the name of a key."""
    for name in packed.names():
        kind = types.resolve(name, 'r')
        assert (kind.ACTIONS, kind.STATUSES) == (Resource.ACTIONS, Resource.STATUSES), name


@pytest.mark.parametrize('name, given', [
    ('OS::Heat::RandomString', {}), ('OS::Heat::Value', {'value': [1, None]}), ('OS::Heat::None', {'any': 'thing'}),
    ('OS::Heat::TestResource', {'wait_secs': 2}), ('OS::Heat::Delay', {'min_wait': 2, 'actions': ['CREATE', 'DELETE']}),
])
def test_life(types, name, given):
    bench = Bench(name, given)
    bench.validate()
    made = bench.create()
    assert made.resource_id
    json.dumps(bench.record.properties), json.dumps(bench.record.definition)
    before = len(bench.memory.written)
    assert bench.update(given) is None                      # nothing changed: nothing is written
    assert len(bench.memory.written) == before
    bench.run('DELETE')


# --- OS::Heat::RandomString ------------------------------------------------------------------------------

def random_string(**given):
    bench = Bench('OS::Heat::RandomString', given)
    bench.validate()
    made = bench.create()
    value = made.FnGetAtt('value')
    assert made.get_reference_id() == value
    assert ('data', 'value', value, True) in bench.memory.written
    return value


def test_the_random_string_is_secret_and_is_the_reference(types):
    assert len(random_string()) == 32
    assert random_string().isalnum()
    before = Bench('OS::Heat::RandomString')
    assert before.fresh('INIT', 'COMPLETE').get_reference_id() == 'r'
    assert before.fresh('INIT', 'COMPLETE').FnGetAtt('value') is None


@pytest.mark.parametrize('given, alphabet', [
    ({'length': 200, 'sequence': 'octdigits'}, '01234567'),
    ({'length': 200, 'character_classes': [{'class': 'lowercase'}]}, 'abcdefghijklmnopqrstuvwxyz'),
    ({'length': 200, 'character_classes': [{'class': 'hexdigits', 'min': 4}]}, '0123456789ABCDEF'),
    ({'length': 200, 'character_classes': [], 'character_sequences': [{'sequence': '-+'}]}, '-+'),
])
def test_characters_come_from_the_classes_alone(types, given, alphabet):
    assert set(random_string(**given)) == set(alphabet)


def test_minimums_are_kept(types):
    value = random_string(length=6, character_classes=[{'class': 'digits', 'min': 2}, {'class': 'uppercase', 'min': 3}],
                          character_sequences=[{'sequence': '#', 'min': 1}])
    assert (sum(c.isdigit() for c in value), sum(c.isupper() for c in value), value.count('#')) == (2, 3, 1)


@pytest.mark.parametrize('given, text', [
    ({'length': 1000}, 'Property error: resources.r.properties.length: 1000 is out of range (min: 1, max: 512)'),
    ({'length': 1, 'character_classes': [{'class': 'digits', 'min': 2}]},
     'Length property cannot be smaller than combined character class and character sequence minimums'),
    ({'character_sequences': [{'min': 2}]},
     'Property error: resources.r.properties.character_sequences[0]: Property sequence not assigned'),
    ({'foo': 1}, 'Property error: resources.r.properties: Unknown Property foo'),
])
def test_random_string_refuses(types, given, text):
    with pytest.raises(exception.StackValidationFailed) as error:
        Bench('OS::Heat::RandomString', given).validate()
    assert str(error.value) == text


def test_another_salt_is_another_string(types):
    bench = Bench('OS::Heat::RandomString', {'salt': 'a'})
    bench.create()
    with pytest.raises(exception.UpdateReplace, match='The Resource r requires replacement'):
        bench.update({'salt': 'b'})


# --- OS::Heat::Value -------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind, value', [
    ('string', 'a'), ('number', '5'), ('comma_delimited_list', [1]), ('json', {'a': 1}), ('boolean', 'True'),
    (None, {'a': [None]}),
])
def test_the_value_is_checked_but_handed_out_as_it_was_given(types, kind, value):
    given = {'value': value, 'type': kind} if kind else {'value': value}
    bench = Bench('OS::Heat::Value', given)
    bench.validate()
    assert bench.create().FnGetAtt('value') == value


@pytest.mark.parametrize('kind, value, text', [
    ('number', 'x', "'x' is not a number"),
    ('comma_delimited_list', 'a,b', '"\'a,b\'" is not a list'),
    ('json', [], '"[]" is not a map'),
    ('boolean', 'yes', '"yes" is not a valid boolean'),
])
def test_value_refuses_another_type(types, kind, value, text):
    with pytest.raises(exception.StackValidationFailed) as error:
        Bench('OS::Heat::Value', {'value': value, 'type': kind}).validate()
    assert str(error.value) == f'Property error: resources.r.properties.value: {text}'


def test_a_new_value_is_an_update(types):
    bench = Bench('OS::Heat::Value', {'value': 1})
    bench.create()
    assert bench.update({'value': 2}) == {'value': 2}
    assert bench.fresh('UPDATE', 'COMPLETE').FnGetAtt('value') == 2


# --- OS::Heat::None --------------------------------------------------------------------------------------

def test_none_accepts_everything_and_says_nothing(types):
    bench = Bench('OS::Heat::None', {'a': {'b': 1}})
    bench.validate()
    made = bench.create()
    assert made.get_reference_id() == made.resource_id
    assert made.FnGetAtt('anything', 0, 'x') is None
    assert bench.update({'b': 2}) is None


# --- OS::Heat::TestResource ------------------------------------------------------------------------------

def test_it_waits_as_long_as_it_is_told(types):
    bench = Bench('OS::Heat::TestResource', {'wait_secs': 9, 'action_wait_secs': {'create': 3}})
    assert bench.create().FnGetAtt('output') == 'test_string'
    assert bench.polls == [False, False, False, True]


def test_it_goes_on_waiting_in_another_process(types):
    bench = Bench('OS::Heat::TestResource', {'wait_secs': 2, 'fail': True})
    handle = json.loads(json.dumps(bench.fresh('CREATE').handler('CREATE')()))
    later = bench.fresh('CREATE').checker('CREATE')
    assert later(handle) is False
    bench.runtime.sleep(5)
    with pytest.raises(ValueError, match=r'^Test Resource failed r$') as error:
        later(handle)
    assert exception.ResourceFailure(error.value, later.__self__).message == (
        'ValueError: resources.r: Test Resource failed r')


def test_a_negative_wait_has_no_end(types):
    bench = Bench('OS::Heat::TestResource', {'wait_secs': -1})
    handle = bench.fresh('CREATE').handler('CREATE')()
    bench.runtime.sleep(10**6)
    assert bench.fresh('CREATE').checker('CREATE')(handle) is False


def test_its_updates(types):
    bench = Bench('OS::Heat::TestResource', {'value': 'a'})
    bench.create()
    assert bench.update({'value': 'b'}) == {'value': 'b'}
    assert bench.fresh('UPDATE', 'COMPLETE').FnGetAtt('output') == 'b'
    with pytest.raises(ValueError, match='Test Resource failed r'):
        bench.update({'value': 'c', 'fail': True})
    with pytest.raises(exception.UpdateReplace, match=r'TestResource "r" \[city-r-\w{12}\] Stack "city" \[stack-id\]'):
        bench.update({'value': 'd', 'update_replace': True})
    with pytest.raises(exception.UpdateReplace, match='The Resource r requires'):
        bench.update({'value': 'b', 'update_replace_value': 'x'})


@pytest.mark.parametrize('before, after, replaces', [
    (True, True, True), (False, True, True), (True, False, False), (False, False, False)])
def test_a_changed_value_replaces_if_it_shall(types, before, after, replaces):
    bench = Bench('OS::Heat::TestResource', {'value': 'a', 'update_replace': before})
    bench.create()
    assert bench.update({'value': 'a', 'update_replace': after}) == (
        None if before == after else {'update_replace': after})
    if replaces:
        with pytest.raises(exception.UpdateReplace):
            bench.update({'value': 'b', 'update_replace': after})
    else:
        assert bench.update({'value': 'b', 'update_replace': after})['value'] == 'b'


def test_an_update_that_changes_no_value_does_not_wait(types):
    bench = Bench('OS::Heat::TestResource', {'value': 'a', 'action_wait_secs': {'update': 3}})
    bench.create()
    bench.update({'value': 'a', 'fail': False, 'wait_secs': 1, 'action_wait_secs': {'update': 3}})
    assert bench.polls[-1:] == [True] and False not in bench.polls


def test_deleting_never_fails(types):
    bench = Bench('OS::Heat::TestResource', {'fail': True, 'action_wait_secs': {'delete': 1}})
    bench.run('DELETE')
    assert bench.polls == [False, True]


def test_its_slow_constraint_and_attribute_take_a_second_at_most(types, runtime):
    bench = Bench('OS::Heat::TestResource', {'constraint_prop_secs': 0.5, 'attr_wait_secs': 500}, runtime=runtime)
    bench.validate()
    assert runtime.monotonic() == 0.5
    bench.create().FnGetAtt('output')
    assert runtime.monotonic() == 1.5


# --- OS::Heat::InstanceGroup -----------------------------------------------------------------------------

@pytest.mark.parametrize('given, added', [
    ([{'Key': 'k', 'Value': 'v'}], ['metering.groupname']), ([], ['metering.groupname']),
    ([{'Key': 'metering.groupname', 'Value': 'mine'}], []), ([{'Key': 'metering.other', 'Value': 'mine'}], [])])
def test_the_group_has_no_metering_tag_where_the_user_has_chosen_one(types, given, added):
    bench = Bench('OS::Heat::InstanceGroup', {
        'AvailabilityZones': ['nova'], 'LaunchConfigurationName': 'c', 'Size': 1, 'Tags': given})
    group = bench.fresh('CREATE')
    group.reparse()
    assert [tag['Key'] for tag in group._tags()] == [*(tag['Key'] for tag in given), *added]


# --- OS::Heat::Delay -------------------------------------------------------------------------------------

def test_delay_waits_at_its_actions_only(types):
    bench = Bench('OS::Heat::Delay', {'min_wait': 2, 'actions': ['RESUME']})
    bench.create()
    assert bench.polls == [True]
    bench.run('SUSPEND')
    bench.run('RESUME')
    assert bench.polls == [True, True, False, False, True]


def test_chance_adds_at_most_the_jitter(types):
    bench = Bench('OS::Heat::Delay', {'min_wait': 10, 'max_jitter': 5, 'jitter_multiplier': 4})
    bench.create()
    assert 10 <= bench.runtime.monotonic() <= 31


def test_delay_refuses_to_outlast_the_stack(types):
    with pytest.raises(exception.StackValidationFailed, match='maximum delay 3601'):
        Bench('OS::Heat::Delay', {'min_wait': 3601}).validate()
