"""The described lamps, against a service that answers over HTTP."""

import shutil

import pytest
import yaml

from heatlite.common import exception
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.plugins.rest import generic_service


@pytest.fixture
def cloud(request, tmp_path):
    shutil.copy(request.path.parent / 'lantern.yaml', tmp_path)     # as an operator installs it
    found = plugin_loading.load([str(tmp_path)])
    assert not found.failures
    types = registry.create()
    for name, kind in found.types.items():
        types.register(name, kind)
    with generic_service.running() as cloud:
        cloud.born = {'state': 'lit'}
        yield cloud
    registry.use(None)
    plugin_loading.package.__path__.remove(str(tmp_path))


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


def test_a_lost_answer_makes_no_second_lamp(cloud):
    cloud.faults.append(generic_service.Fault('POST /lamps', lost=True))
    lamp = bench(cloud, 'Example::Lantern::Lamp', {'room': 'hall'})
    made = lamp.create()
    assert list(cloud.things) == [f'/lamps/{made.resource_id}'] == [f'/lamps/{made.find_existing()}']
    assert cloud.said() == ['POST /lamps']


def test_a_lamp_that_is_gone(cloud):
    lamp = bench(cloud, 'Example::Lantern::Lamp', {'room': 'hall'})
    made = lamp.create()
    lamp.run('CHECK')
    cloud.things[f'/lamps/{made.resource_id}']['state'] = 'dark'
    with pytest.raises(exception.Error, match=r"'state': expected '\['lit'\]', got 'dark'"):
        lamp.run('CHECK')
    cloud.things.clear()
    lamp.run('DELETE')


def test_the_template(cloud, request):
    template = yaml.safe_load((request.path.parent / 'template.yaml').read_text())
    given = {'room': {'get_resource': 'hall'}, 'lamp': {'get_attr': ['lamp', 'color']}}
    room = bench(cloud, 'Example::Lantern::Room', template['resources']['hall']['properties'])
    assert room.validate() is None
    place = room.create().resource_id
    properties = template['resources']['lamp']['properties']
    assert properties['room'] == given['room'] and template['outputs']['color']['value'] == given['lamp']
    lamp = bench(cloud, 'Example::Lantern::Lamp', {**properties, 'room': place, 'watts': 7})
    assert lamp.validate() is None
    lamp.create()
    assert cloud.body('POST /lamps')['lamp']['room_id'] == place
