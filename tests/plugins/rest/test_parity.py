"""All types of the facts are there, and show the same face: schema, attributes, status, client, who may use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import attributes, properties
from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import types
from heatlite.engine.types import registry
from heatlite.rpc import messages
from tests.plugins.rest import generic_service

FACTS = {facts['type']: facts for facts in map(json.loads, Path(__file__).with_name('facts.jsonl').open())}
HIDDEN = {name for name, facts in FACTS.items() if facts['support_status']['hidden']}
ADMIN_ONLY = {name for name, facts in FACTS.items() if facts['policy'] == 'project_admin'}
TEMPLATES = {name for name, facts in FACTS.items() if name in ('AWS::RDS::DBInstance', 'AWS::CloudWatch::Alarm')}


def constraint_facts(schema):
    found = []
    for limit in schema.constraints:
        entry = dict(limit)
        entry.pop('description', None)
        (kind, value), = entry.items()
        found.append({'kind': kind, 'value': list(value) if isinstance(value, tuple) else value})
    return found


def property_facts(schema):
    found = {'type': schema.kind, 'required': schema.required, 'update_allowed': schema.update_allowed,
             'immutable': schema.immutable}
    if schema.default is not None:
        found['default'] = schema.default
    if schema.constraints:
        found['constraints'] = constraint_facts(schema)
    if isinstance(schema.schema, properties.Schema):
        found['schema'] = {'*': property_facts(schema.schema)}
    elif schema.schema is not None:
        found['schema'] = {name: property_facts(child) for name, child in schema.schema.items()}
    return found


def plain(body):
    """The facts of a property without its history and what is not in its schema."""
    found = {key: value for key, value in body.items()
             if key not in ('support_status', 'implemented', 'default_from_config', 'schema', 'default')}
    if body.get('default') is not None:
        # One list of the original has a map as its default.
        found['default'] = list(body['default']) if body['type'] == 'list' else body['default']
    if 'schema' in body:
        found['schema'] = {name: plain(child) for name, child in body['schema'].items()}
    return found


@pytest.fixture(scope='module')
def known():
    conf = cfg.ConfigOpts()
    conf([], project='heatlite', default_config_files=[])
    yield registry.create(conf)
    registry.use(None)


def test_every_name_is_known():
    assert set(packed.names()) == set(FACTS)
    assert len(FACTS) == 203


@pytest.mark.parametrize('name', sorted(set(FACTS) - TEMPLATES))
def test_the_face_of_a_type(known, name):
    facts, kind = FACTS[name], known.resolve(name, 'r')
    assert {key: property_facts(schema) for key, schema in properties.schemata(kind.properties_schema).items()} == {
        key: plain(body) for key, body in facts['properties'].items()}
    assert {key: {'type': schema.type.lower() if schema.type else None, 'cache_mode': schema.cache_mode}
            for key, schema in attributes.all_schemata(kind).items()} == {
        key: {'type': body['type'], 'cache_mode': body['cache_mode']} for key, body in facts['attributes'].items()}
    status = kind.support_status
    assert (status.status, status.version) == (facts['support_status']['status'], facts['support_status']['version'])
    assert kind.default_client_name == facts['default_client_name']
    assert (kind.required_service_extension or None) == facts['required_service_extension']
    assert kind.getdoc() and kind.getdoc() != 'No description available'


def test_a_list_has_all_that_is_not_hidden_and_whose_service_is_there(known, cloud):
    admin = generic_service.context(cloud)
    admin.roles = ['admin', 'member', 'reader']
    listed = set(known.list_types(admin, messages.ListResourceTypes()))
    missing = set(FACTS) - HIDDEN - listed - TEMPLATES
    without_service = {name for name in missing if FACTS[name]['default_client_name'] in ('zun', 'heat')}
    assert missing == without_service
    assert not listed & HIDDEN
    member = generic_service.context(cloud)
    member.roles = ['member', 'reader']
    assert listed - set(known.list_types(member, messages.ListResourceTypes())) == ADMIN_ONLY - HIDDEN


def test_nothing_of_a_service_that_is_not_in_the_catalogue_is_listed(known):
    nobody = RequestContext(project_id='p', roles=['admin'], overwrite=False)
    listed = known.list_types(nobody, messages.ListResourceTypes())
    assert {FACTS[name]['default_client_name'] for name in listed} <= {None, 'heat'}         # which is ourselves


def test_a_type_nobody_has_written_says_so(bench):
    types.built_in.cache_clear()
    unmade = types.built_in('OS::Heat::Stack')
    made = bench('OS::Heat::Stack', {'template': 'x'})
    with pytest.raises(exception.StackValidationFailed, match='cannot be created by this version'):
        unmade('r', made.definition, made.stack).validate()


def test_a_placeholder_accepts_everything_and_does_nothing(cloud, bench):
    sahara = bench('OS::Sahara::Cluster', {'any': {'thing': 1}})
    assert sahara.validate() is None
    made = sahara.create()
    assert made.resource_id and made.FnGetAtt('show') is None
    assert sahara.update({'another': 'thing'}) is None
    sahara.run('DELETE')
    assert not cloud.requests
    with pytest.raises(exception.NotSupported):
        registry.current().schema(made.context, messages.ResourceSchema('OS::Sahara::Cluster'))
