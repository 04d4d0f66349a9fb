"""What a preview says is what the update does: over random definitions the calls are the ones foretold."""

import random
from collections import Counter

import pytest

from heatlite.rpc import messages
from tests.simulation.histories import definition
from tests.simulation.house import House


def foretold(preview):
    """(verb, resource) of every call to the cloud that the preview promises."""
    calls = Counter()
    for kind, verbs in (('added', ['create']), ('updated', ['update']), ('replaced', ['create', 'delete']),
                        ('deleted', ['delete'])):
        for entry in preview[kind]:
            calls.update((verb, entry['resource_name']) for verb in verbs)
    return calls


def made(calls):
    return Counter((verb, name.split('-')[1]) for verb, name in calls)


@pytest.mark.parametrize('first', range(0, 60, 10))
def test_an_update_does_what_its_preview_says(first):
    for seed in range(first, first + 10):
        dice = random.Random(seed)
        with House(seed, engines=1) as house:
            stack_id = house.create('s', definition(dice, may_fail=False))
            house.settle(stack_id)
            for _ in range(3):
                wanted = definition(dice, may_fail=False)
                preview = house.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=wanted, environment={}))
                names = [entry['resource_name'] for entries in preview.values() for entry in entries]
                assert len(names) == len(set(names)), 'each resource is in one list'
                house.cloud.calls.clear()
                house.update(stack_id, wanted)
                row = house.settle(stack_id)
                assert row.status == 'COMPLETE', row.reason
                assert made(house.cloud.calls) == foretold(preview), (seed, preview)


def test_a_preview_names_what_differs_and_why_something_is_replaced():
    with House(engines=1) as house:
        def template(value, fixed):
            return {'heat_template_version': '2018-08-31', 'resources': {
                'a': {'type': 'Sim::Thing', 'properties': {'value': value, 'fixed': fixed}},
                'b': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'a'}}}}}
        stack_id = house.create('s', template('1', ''))
        house.settle(stack_id)
        calls = list(house.cloud.calls)
        in_place = house.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template('2', ''), environment={}))
        assert [entry['changed_properties'] for entry in in_place['updated']] == [['value']]
        assert [entry['resource_name'] for entry in in_place['unchanged']] == ['b']
        anew = house.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template('1', 'x'), environment={}))
        assert [entry['replace_reason'] for entry in anew['replaced']] == ['The Resource a requires replacement.']
        assert [entry['resource_name'] for entry in anew['updated']] == ['b'], 'its new value is not known yet'
        assert anew['replaced'][0]['property_changes'] == {'fixed': {'old': '', 'new': 'x', 'forces_replacement': True}}
        assert anew['updated'][0]['property_changes'] == {
            'value': {'old': 'obj-1', 'unknown': True, 'forces_replacement': False}}
        assert house.cloud.calls == calls, 'a preview touches nothing'


def test_what_others_had_to_say_is_not_asked_again():
    """Here a service would have to tell the config's text, and nobody reaches it."""
    parts = [{'config': {'get_attr': ['inner', 'config']}, 'type': 'multipart'}]
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'inner': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': [{'config': 'a text'}]}},
        'outer': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': parts}}}}
    with House(engines=1) as house:
        stack_id = house.create('s', template)
        assert house.settle(stack_id).status == 'COMPLETE'
        preview = house.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template, environment={}))
        assert [entry['resource_name'] for entry in preview['unchanged']] == ['inner', 'outer']


def test_what_cannot_be_decided_is_unknown_and_so_is_what_comes_behind_it():
    """Also when the trouble is the preview's own: nothing is called unchanged that was not looked at."""
    def template(text, value):
        return {'heat_template_version': '2018-08-31', 'resources': {
            'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'config': text}},
            'locked': {'type': 'Sim::Thing', 'properties': {'value': value}},
            'behind': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'locked'}}}}}

    environment = {'resource_registry': {'resources': {'locked': {'restricted_actions': 'update'}}}}
    with House(engines=1) as house:
        stack_id = house.create('s', template('date', '1'))
        house.settle(stack_id)
        house.update(stack_id, template('date', '1'), converge=True)
        assert house.settle(stack_id).status == 'COMPLETE'

        def preview(wanted, **more):
            found = house.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=wanted, **more))
            return {entry['resource_name']: kind for kind, entries in found.items() for entry in entries}, found

        kinds, _ = preview(template('date', '2'), environment={})
        assert kinds == {'config': 'unchanged', 'locked': 'updated', 'behind': 'unchanged'}
        kinds, found = preview(template('date', '2'), environment=environment)
        assert kinds == {'config': 'unchanged', 'locked': 'unknown', 'behind': 'unknown'}
        assert all('locked' in entry['reason'] for entry in found['unknown'])
