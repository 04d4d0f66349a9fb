"""The described lamps, against a service that answers over HTTP."""

from pathlib import Path

import pytest

from heatlite.common import exception
from heatlite.engine import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.plugins.rest import generic_service


@pytest.fixture
def cloud():
    types = registry.create()
    for name, kind in plugin_loading.load([str(Path(__file__).parent)]).types.items():
        types.register(name, kind)
    with generic_service.running() as cloud:
        cloud.born = {'state': 'lit'}
        yield cloud
    registry.use(None)


def bench(cloud, name, properties):
    made = Bench(name, properties)
    made.stack.context = generic_service.context(cloud)
    return made


def test_a_lamp(cloud):
    lamp = bench(cloud, 'Example::Lantern::Lamp', {'room': 'hall', 'switches': ['door', 'bed']})
    assert lamp.validate() is None
    made = lamp.create()
    path = f'/lamps/{made.resource_id}'
    assert cloud.said() == ['POST /lamps', f'PUT {path}/switches/door', f'PUT {path}/switches/bed']
    assert cloud.body('POST /lamps') == {'lamp': {
        'name': made.physical_resource_name(), 'watts': 5, 'room_id': 'hall'}}
    assert made.FnGetAtt('state') == 'lit'
    lamp.update({'room': 'hall', 'watts': 7, 'switches': ['door']})
    assert cloud.body(f'PATCH {path}') == {'lamp': {'watts': 7}}
    assert f'DELETE {path}/switches/bed' in cloud.said()
    with pytest.raises(exception.UpdateReplace):
        lamp.update({'room': 'kitchen', 'watts': 7, 'switches': ['door']})
    lamp.run('DELETE')
    assert path not in cloud.things


def test_a_lamp_that_breaks(cloud):
    cloud.born = {'state': 'broken', 'why': 'it fell'}
    with pytest.raises(exception.ResourceInError, match='Went to status broken due to "it fell"'):
        bench(cloud, 'Example::Lantern::Lamp', {'room': 'hall'}).create()


def test_a_value_that_is_refused(cloud):
    with pytest.raises(exception.StackValidationFailed, match='watts: 99 is out of range'):
        bench(cloud, 'Example::Lantern::Lamp', {'room': 'hall', 'watts': 99}).validate()
