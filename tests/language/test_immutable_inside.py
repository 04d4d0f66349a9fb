"""Immutable parameters of nested templates: an update does not change them."""

import pytest

from tests.language import run_cases

CHILD = '''
heat_template_version: 2018-08-31
parameters: {p: {type: %s, default: x, immutable: true}}
resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: p}}}}
outputs: {value: {value: {get_attr: [v, value]}}}
'''


def updated(kind, before, after):
    def template(value):
        given = {} if value is None else {'p': value}
        return {'heat_template_version': '2021-04-16', 'resources': {'c': {'type': 'c.yaml', 'properties': given}},
                'outputs': {'o': {'value': {'get_attr': ['c', 'value']}}}}
    return run_cases.OPERATIONS['update']({
        'name': 'immutable', 'op': 'update', 'template': template(before), 'files': {'c.yaml': CHILD % kind},
        'update': {'template': template(after)}})


@pytest.mark.parametrize('before, after', [('a', 'b'), ('a', None), (None, 'b')])
def test_a_change_fails_the_resource(before, after):
    found = updated('string', before, after)
    assert found['state'] == 'UPDATE_FAILED'
    assert 'The following parameters are immutable and may not be updated: p' in found['reason']


@pytest.mark.parametrize('kind, before, after', [
    ('string', 'a', 'a'), ('string', None, 'x'), ('comma_delimited_list', ['a', 'b'], 'a,b'),
    ('comma_delimited_list', ['a'], ['a']), ('number', 5, '5'), ('json', {'a': 1}, {'a': 1})])
def test_the_same_value_in_another_form_is_no_change(kind, before, after):
    assert updated(kind, before, after)['state'] == 'UPDATE_COMPLETE'
