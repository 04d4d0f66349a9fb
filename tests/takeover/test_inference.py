"""What references were, told from what was applied."""

import pytest

from heatlite.takeover.inference import values


@pytest.mark.parametrize('written, applied, found', [
    ({'a': {'get_resource': 'x'}}, {'a': 'id'}, [('x', None, 'id')]),
    ({'a': {'Ref': 'x'}}, {'a': 'id'}, [('x', None, 'id')]),
    ({'a': {'get_attr': ['x', 'value']}}, {'a': 1}, [('x', ('value',), 1)]),
    ({'a': {'get_attr': ['x', 'value', 'k', 0]}}, {'a': 1}, [('x', ('value', 'k', 0), 1)]),
    ({'a': {'Fn::GetAtt': ['x', 'value']}}, {'a': 1}, [('x', ('value',), 1)]),
    ({'a': {'Fn::GetAtt': 'x.value.b'}}, {'a': 1}, [('x', ('value.b',), 1)]),
    ({'a': [1, {'b': {'get_resource': 'x'}}]}, {'a': [1, {'b': 'id'}]}, [('x', None, 'id')]),
    ({'a': {'list_join': ['-', [{'get_resource': 'x'}]]}}, {'a': 'id'}, []),      # inside another function
    ({'a': {'get_attr': [{'get_param': 'p'}, 'value']}}, {'a': 1}, []),
    ({'a': [{'get_resource': 'x'}]}, {'a': ['id', 'more']}, []),
    ({'a': {'get_resource': 'x'}}, {}, []),
    (None, {'a': 1}, []),
])
def test_values(written, applied, found):
    assert list(values(written, applied)) == found
