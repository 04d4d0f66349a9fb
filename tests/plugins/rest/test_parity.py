"""All types of the catalogue are there, and each class looks as its entry says; who may use which types."""

from __future__ import annotations

import pytest
from oslo_config import cfg

from heatlite.common import config, exception
from heatlite.common.context import RequestContext
from heatlite.db.stack_sets import ACTING_BY_TOKEN
from heatlite.engine import attributes, properties
from heatlite.engine.resources import packed
from heatlite.engine.resources.catalogue import source
from heatlite.engine.resources.rest import placeholders, types
from heatlite.engine.types import registry
from heatlite.rpc import messages
from tests.plugins import faces
from tests.plugins.rest import generic_service

FACTS = source.read().facts                  # from the YAML files, not from what the service reads
HIDDEN = {name for name, facts in FACTS.items() if facts['support_status'].get('hidden')}
ADMIN_ONLY = {name for name, facts in FACTS.items() if facts.get('policy') == 'project_admin'}


def constraint_facts(schema):
    found = []
    for limit in schema.constraints:
        entry = dict(limit)
        entry.pop('description', None)
        (kind, value), = entry.items()
        found.append({'kind': kind, 'value': list(value) if isinstance(value, tuple) else value})
    return found


def property_facts(schema):
    found = {'type': schema.kind, **{flag: True for flag in ('required', 'update_allowed', 'immutable')
                                     if getattr(schema, flag)}}
    if not schema.implemented:
        found['implemented'] = False
    if schema.default is not None:
        found['default'] = schema.default
    if schema.constraints:
        found['constraints'] = constraint_facts(schema)
    if isinstance(schema.schema, properties.Schema):
        found['schema'] = {'*': property_facts(schema.schema)}
    elif schema.schema is not None:
        found['schema'] = {name: property_facts(child) for name, child in schema.schema.items()}
    if schema.description is not None:
        found['description'] = schema.description
    if (schema.support_status.status, schema.support_status.version) != ('SUPPORTED', None):
        found['support_status'] = status_facts(schema.support_status)
    return found


def status_facts(status):
    found = {'status': status.status, 'version': status.version}
    if status.message is not None:
        found['message'] = status.message
    if status.status == 'HIDDEN':
        found['hidden'] = True
    previous = []
    while (status := status.previous_status) is not None:
        previous.append({key: value for key, value in status_facts(status).items()
                         if key not in ('hidden', 'previous')})
    return {**found, 'previous': previous} if previous else found


def plain(body):
    """The facts of a property without the name of the option that gives its default."""
    found = {key: value for key, value in body.items() if key != 'default_from_config'}
    if 'schema' in body:
        found['schema'] = {name: plain(child) for name, child in body['schema'].items()}
    return found


@pytest.fixture(scope='module')
def known():
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[])
    yield registry.create(conf)
    registry.use(None)


def test_every_name_is_known():
    assert set(packed.names()) == set(FACTS)
    assert len(FACTS) == 205


@pytest.mark.parametrize('name', FACTS)
def test_a_class_looks_as_its_entry_says(known, name):
    facts, kind = FACTS[name], known.resolve(name, 'r')
    wanted = {} if facts.get('family') == placeholders.FAMILY else facts.get('properties', {})      # accepts anything
    assert {key: property_facts(schema) for key, schema in properties.schemata(kind.properties_schema).items()} == {
        key: plain(body) for key, body in wanted.items()}
    assert {key: property_facts(schema) for key, schema in kind.update_policy_schema.items()} == facts.get(
        'update_policy', {})
    shown = {key: {'type': schema.type.lower() if schema.type else None, 'cache_mode': schema.cache_mode,
                   'description': schema.description, 'support_status': status_facts(schema.support_status)}
             for key, schema in attributes.all_schemata(kind).items()}
    shown['show']['description'] = None             # the same for all types
    assert shown == {key: {'description': None, 'support_status': {'status': 'SUPPORTED', 'version': None}, **body}
                     for key, body in facts['attributes'].items()}
    assert status_facts(kind.support_status) == facts['support_status']
    assert kind.default_client_name == facts.get('default_client_name')
    assert (kind.required_service_extension or None) == facts.get('required_service_extension')
    assert kind.getdoc() and kind.getdoc() != 'No description available'


def test_what_templates_depend_on_has_not_changed(known):
    """A property that vanished or became required breaks templates that are in use. A change that is meant:
    `python -m tests.plugins.faces` writes the file anew."""
    assert {name: faces.digest(known.resolve(name, 'r')) for name in FACTS} == faces.stored()


def test_the_database_knows_the_types_that_act_by_the_token_of_a_request(known):
    """It looks for them by name, where the engine asks their classes."""
    assert {name for name in FACTS if known.resolve(name, 'r').keeps_token} == ACTING_BY_TOKEN


def test_a_list_has_all_that_is_not_hidden_and_whose_service_is_there(known, cloud):
    admin = generic_service.context(cloud)
    admin.roles = ['admin', 'member', 'reader']
    listed = set(known.list_types(admin, messages.ListResourceTypes()))
    missing = set(FACTS) - HIDDEN - listed
    without_service = {name for name in missing if FACTS[name].get('default_client_name') in ('zun', 'heat')}
    assert missing == without_service
    assert not listed & HIDDEN
    member = generic_service.context(cloud)
    member.roles = ['member', 'reader']
    assert listed - set(known.list_types(member, messages.ListResourceTypes())) == ADMIN_ONLY - HIDDEN


def test_nothing_of_a_service_that_is_not_in_the_catalogue_is_listed(known):
    nobody = RequestContext(project_id='p', roles=['admin'], overwrite=False)
    listed = known.list_types(nobody, messages.ListResourceTypes())
    assert {FACTS[name].get('default_client_name') for name in listed} <= {None, 'heat'}         # which is ourselves


def test_the_page_of_former_types_has_all_placeholders():
    """With the release since which each is one."""
    page = (source.ROOT / 'docs/users/former-types.rst').read_text()
    rows = [line.split() for line in page.splitlines() if line.startswith('OS::')]
    listed = {(name, since) for name, since, *_rest in rows}
    assert listed == {(name, facts['support_status']['version']) for name, facts in FACTS.items()
                      if facts.get('family') == placeholders.FAMILY and name != 'OS::Heat::None'}


def test_every_type_is_made():
    """By a class, a description, or as a placeholder whose service is gone."""
    unmade = set(FACTS) - set(packed.modules()) - set(types.files())
    assert {FACTS[name].get('family') for name in unmade} == {placeholders.FAMILY}


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
