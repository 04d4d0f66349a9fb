"""What an operator's template looks like as a type."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.rpc import messages

LAMP = '''
heat_template_version: 2018-08-31
description: A lamp.
parameters:
  watts: {type: number, description: How bright., constraints: [{range: {min: 1}}]}
  rooms: {type: comma_delimited_list, default: []}
outputs:
  light: {value: 1, description: What it gives.}
'''


@pytest.fixture
def lamp(types, tmp_path):
    file = tmp_path / 'lamp.yaml'
    file.write_text(LAMP)
    types.register('My::Lamp', file.as_uri())
    return types


def test_its_parameters_are_properties_and_its_outputs_attributes(lamp):
    found = lamp.schema(RequestContext(is_admin=True, overwrite=False), messages.ResourceSchema('My::Lamp'))
    watts = dict(found['properties']['watts'])
    assert watts.pop('constraints')[0]['range']['min'] == 1
    assert watts == {'type': 'number', 'required': True, 'update_allowed': True, 'immutable': False,
                     'description': 'How bright.'}
    assert (found['properties']['rooms']['type'], found['properties']['rooms']['required']) == ('list', False)
    assert found['attributes']['light'] == {'description': 'What it gives.'}


def test_one_that_cannot_be_read(types):
    types.register('My::Lamp', 'file:///nowhere/lamp.yaml')
    with pytest.raises(exception.InvalidGlobalResource):
        types.schema(RequestContext(is_admin=True, overwrite=False), messages.ResourceSchema('My::Lamp'))
