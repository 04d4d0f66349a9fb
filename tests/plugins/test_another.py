"""Other valid values for properties, with which the conformance kit tries updates."""

import pytest

from heatlite.engine.properties import Schema
from heatlite.testing import another

PAIR = Schema(Schema.MAP, schema={'one': Schema(Schema.STRING), 'two': Schema(Schema.STRING)})
SINGLE = Schema(Schema.LIST, schema=Schema(Schema.INTEGER))


@pytest.mark.parametrize('schema, given, found', [
    (PAIR, {'one': 'a'}, {'one': 'another'}),
    (PAIR, 'no map', {'one': 'another'}),
    (Schema(Schema.MAP), 'no map', {'another': 'b'}),
    (SINGLE, [1], [2]),
    (SINGLE, 'no list', [1])])
def test_another_map_or_list_than_one_or_than_a_text(schema, given, found):
    assert another.value('property', schema, given) == found
