"""Types that own stacks, wait, are signalled or configure software, against their facts."""

from __future__ import annotations

import pytest

from heatlite.engine import attributes
from heatlite.engine.resources import packed

ROOMS = ('heatlite.engine.resources.openstack.heat.', 'heatlite.engine.resources.aws.cfn.',
         'heatlite.engine.resources.aws.autoscaling.')
NAMES = sorted(name for name, module in packed.modules().items() if module.startswith(ROOMS))


def shown(schema):
    return {**{key: getattr(schema, key) for key in (
        'type', 'default', 'required', 'update_allowed', 'immutable', 'implemented')},
        'status': (schema.support_status.status, schema.support_status.version),
        'constraints': [dict(each) for each in schema.constraints],
        'schema': {str(name): shown(child) for name, child in schema.schema.items()} if isinstance(schema.schema, dict)
        else shown(schema.schema) if schema.schema is not None else None}


def without_texts(found):
    if isinstance(found, dict):
        return {key: without_texts(value) for key, value in found.items() if key != 'description'}
    return [without_texts(value) for value in found] if isinstance(found, list | tuple) else found


@pytest.mark.parametrize('name', NAMES)
def test_a_type_looks_like_its_facts(types, name):
    kind, facts = types.resolve(name, 'r'), packed.facts(name)
    assert without_texts({key: shown(schema) for key, schema in kind.properties_schema.items()}) == without_texts(
        {key: shown(schema) for key, schema in packed.properties(name).items()})
    assert without_texts({key: shown(schema) for key, schema in kind.update_policy_schema.items()}) == without_texts(
        {key: shown(schema) for key, schema in packed.update_policy(name).items()})
    assert {key: (schema.type.lower() if schema.type else None, schema.cache_mode)
            for key, schema in attributes.all_schemata(kind).items()} == {
        key: (body.get('type'), body.get('cache_mode', 'cache_local'))
        for key, body in {'show': {'type': 'map', 'cache_mode': 'cache_none'}, **facts.get('attributes', {})}.items()}
    assert kind.support_status.status == facts['support_status']['status']
    assert (kind.default_client_name, kind.entity) == (facts.get('default_client_name'), facts.get('entity'))
    for flag, value in facts.get('class_flags', {}).items():
        found = getattr(kind, flag)
        assert (list(found) if isinstance(found, tuple) else found) == value, flag


@pytest.mark.parametrize('name', NAMES)
def test_a_type_says_what_it_is(types, name):
    assert len(types.resolve(name, 'r').getdoc()) > 20
