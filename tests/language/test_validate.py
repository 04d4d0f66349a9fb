"""POST /validate: its verdict does not depend on values; its answer to a template that it refuses has all errors."""

import pytest

from heatlite.common import exception
from heatlite.language import describe, lint
from tests.language.test_lint import TYPES, build

WRONG_ANYWAY = '  unknown: {type: OS::Heat::RandomString, properties: {lenght: 5}}\n'
VALUES = '''heat_template_version: 2018-08-31
parameters:
  needed: {type: number}
  given: {type: number}
resources:
  two: {type: OS::Heat::RandomString, properties: {length: BAD, sequence: nope}}
  three: {type: OS::Heat::RandomString, properties: {character_classes: [{class: nope, min: x}]}}
  net: {type: OS::Neutron::Subnet, properties: {cidr: 10.0.0.0/99, ip_version: 5}}
  group: {type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {
    type: OS::Heat::RandomString, properties: {length: 0}}}}
  scaled: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 3, max_size: 1, resource: {
    type: OS::Heat::RandomString}}}
  file: {type: child.yaml, properties: {p: abc}}
  later: {type: OS::Heat::RandomString, properties: {length: {get_param: needed}}}
  parameter: {type: OS::Heat::RandomString, properties: {length: {get_param: given}}}
'''
CHILD = '''heat_template_version: 2018-08-31
parameters: {p: {type: number}}
resources:
  inner: {type: OS::Heat::RandomString, properties: {length: BAD, salt: [1]}}
'''
FILES = {'child.yaml': CHILD}
GIVEN = {'parameters': {'given': 1000}}


def answer(text, environment=GIVEN, **options):
    return describe.validation_answer(build(text, environment, FILES), TYPES, **options)


def create(text, environment):
    """What a create says, which has all parameters."""
    return lint.check(build(text, environment, FILES), TYPES)


def test_values_alone_are_no_reason_to_refuse():
    """As in Heat: the answer says which parameters a template has, before anyone has given them."""
    assert list(answer(VALUES)['Parameters']) == ['needed', 'given']


@pytest.mark.parametrize('wrong, error', [
    (WRONG_ANYWAY, exception.HTTPBadRequest), ('outputs: {o: {}}\n', exception.HTTPBadRequest),
    ('  lost: {type: OS::Heat::Value, depends_on: nowhere}\n', exception.InvalidTemplateReference)])
def test_a_refusal_has_all_errors_that_a_create_would_have(wrong, error):
    with pytest.raises(error) as refused:
        answer(VALUES + wrong)
    first, *lines = str(refused.value).split('\n')
    complete = create(VALUES + wrong, {'parameters': {**GIVEN['parameters'], 'needed': 5}})
    assert len(complete) > 8
    for each in complete:
        assert str(each.error) in str(refused.value)
    assert len(lines) == len(complete)              # the first error has its place in a line of its own
    assert len(set(lines)) == len(lines)
    assert 'needed' not in str(refused.value)
    with pytest.raises(error) as alone:             # what clients read first does not depend on values
        answer('heat_template_version: 2018-08-31\nresources:\n  ok: {type: OS::Heat::Value}\n' + wrong, {})
    assert first == str(alone.value).split('\n')[0]


def test_the_same_mistake_at_two_places_is_two_errors():
    with pytest.raises(exception.HTTPBadRequest) as refused:
        answer('heat_template_version: 2018-08-31\nresources:\n  a: {}\n  b: {properties: {}}\n', {})
    assert str(refused.value).split('\n') == [
        'Each resource must contain a type key.', 'root stack:3:3, resources.a',
        'root stack:4:3, resources.b: Each resource must contain a type key.']


def test_what_is_ignored_stays_so():
    class Absent(type(TYPES)):
        def facts(self, *args):
            import dataclasses

            def absent():
                raise exception.ResourceTypeUnavailable(
                    service_name='x', resource_type='OS::Heat::RandomString', reason='none')
            return dataclasses.replace(super().facts(*args), available=absent)

    text = 'heat_template_version: 2018-08-31\nresources:\n' + WRONG_ANYWAY
    describe.validation_answer(build(text), Absent(), ignored={'99001'})
    with pytest.raises(exception.HTTPBadRequest) as refused:
        describe.validation_answer(build(text + 'outputs: {o: {}}\n'), Absent(), ignored={'99001'})
    assert 'E99001' not in str(refused.value)


def test_hidden_values_are_not_shown():
    text = ('heat_template_version: 2018-08-31\nparameters: {secret: {type: string, hidden: true}}\nresources:\n'
            '  a: {type: OS::Heat::RandomString, properties: {length: {get_param: secret}}}\n')
    with pytest.raises(exception.HTTPBadRequest) as refused:
        answer(text + WRONG_ANYWAY, {'parameters': {'secret': 'hunter2x'}})
    assert 'resources.a.properties.length' in str(refused.value)
    assert 'hunter2x' not in str(refused.value)


def test_nested_stacks_are_shown_only_so_deep():
    text = 'heat_template_version: 2018-08-31\nresources:\n  r: {type: own.yaml}\n'
    with pytest.raises(exception.RequestLimitExceeded, match=r'Recursion depth exceeds 5\.'):
        describe.validation_answer(build(text, None, {'own.yaml': text}), TYPES, show_nested=True)


def test_resources_are_counted_before_nested_stacks_are_shown():
    text = 'heat_template_version: 2018-08-31\nresources:\n  a: {type: child.yaml}\n  b: {type: child.yaml}\n'
    child = 'heat_template_version: 2018-08-31\nresources:\n  a: {type: OS::Heat::None}\n'
    counted = []
    describe.validation_answer(build(text, None, {'child.yaml': child}), TYPES, show_nested=True, take=counted.append)
    assert counted == [2, 1, 1]
