"""Heat's names on the stack that types see, and on their resource."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.types.draft import DraftStack
from heatlite.language import definition as definitions
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from tests.plugins.bench import Bench

BEGAN = datetime(2026, 3, 4, tzinfo=UTC)
HOT = '''
heat_template_version: 2018-08-31
description: A street.
parameters:
  length: {type: number, default: 3}
  secret: {type: string, hidden: true}
  name: {type: string}
resources:
  lamp:
    type: OS::Heat::Value
    depends_on: other
    properties: {value: {get_param: length}}
  other: {type: OS::Heat::None}
outputs:
  light: {description: How bright., value: {get_attr: [lamp, value]}}
'''
CFN = '''
HeatTemplateFormatVersion: '2012-12-12'
Mappings: {a: {b: {c: d}}}
Resources: {lamp: {Type: 'OS::Heat::None', Properties: {a: 1}}}
'''


def defined(text=HOT, **options):
    environment = Environment({'parameters': {'secret': 's3', 'name': 'n'}, 'parameter_defaults': {'length': 5}})
    return definitions.build(templates.load(text), environment, {'a.yaml': 'b'},
                             definitions.StackIdentity('city', 'stack-id', 'p'), **options)


def stack(definition=None, make=None, minutes=1, **row):
    row = SimpleNamespace(**{'action': 'CREATE', 'status': 'IN_PROGRESS', 'started_at': BEGAN, 'created_at': BEGAN,
                             'timeout_mins': 60, 'credentials_id': 'c1', **row})
    runtime = SimpleNamespace(now=lambda: BEGAN + timedelta(minutes=minutes))
    return Stack(SimpleNamespace(row=row, definition=definition or defined(), context=None),
                 make or (lambda name: Bench('OS::Heat::TestResource', name=name).fresh('CREATE')), None, runtime,
                 scope=None, nesting=None, software=None, alarms=None, default_timeout=3600)


def test_words_for_actions_and_states():
    seen = stack()
    assert (seen.CREATE, seen.RESTORE, seen.IN_PROGRESS) == ('CREATE', 'RESTORE', 'IN_PROGRESS')
    assert seen.state == (seen.CREATE, seen.IN_PROGRESS) and seen.action in Stack.ACTIONS


def test_the_time_that_is_left():
    assert (stack().time_elapsed(), stack().time_remaining(), stack().has_timed_out()) == (60, 3540, False)
    late = stack(minutes=61)
    assert late.time_remaining() == -60 and late.has_timed_out()
    assert not stack(minutes=61, status='COMPLETE').has_timed_out()
    assert stack(started_at=None).time_elapsed() == 60


def test_credentials():
    assert stack().user_creds_id == 'c1'
    assert not stack().requires_deferred_auth()
    user = Bench('OS::Heat::AccessPolicy', {'AllowedResources': []}).fresh('CREATE')
    user.requires_deferred_auth = True
    assert stack(make=lambda name: user).requires_deferred_auth()


def test_the_parent_resource():
    assert stack().parent_resource is None
    text = HOT.replace('depends_on: other', 'metadata: {a: {get_param: name}}')
    parent = defined(text)
    outer = definitions.Facade(parent.resources['lamp'], None)
    seen = stack(defined(facade=outer)).parent_resource
    assert (seen.name, seen.metadata_get()) == ('lamp', {'a': 'n'})


@pytest.mark.parametrize('seen', [
    lambda: stack().t, lambda: DraftStack(defined(), RequestContext(project_id='p', overwrite=False), None).t])
def test_the_template(seen):
    t = seen()
    assert t.t['parameters']['length'] == {'type': 'number', 'default': 3}
    assert t[t.RESOURCES] == t['Resources'] == {
        'lamp': {'Type': 'OS::Heat::Value', 'DependsOn': 'other', 'Properties': {'value': {'get_param': 'length'}}},
        'other': {'Type': 'OS::Heat::None'}}
    assert t[t.OUTPUTS] == {'light': {'Description': 'How bright.', 'Value': {'get_attr': ['lamp', 'value']}}}
    assert t[t.DESCRIPTION] == t.description == 'A street.'
    assert (t.get('conditions'), t.get('Outputs'), t.get('such', 7), 'such' in t) == ({}, t['outputs'], 7, False)
    assert t[t.MAPPINGS] == t.get('Mappings') == {} and 'Resources' in t
    assert {'description', 'resources', 'outputs', 'conditions'} <= {*t} and len(t) == len([*t])
    for unreadable in (t.PARAMETERS, t.VERSION, 'such'):
        with pytest.raises(KeyError):
            t[unreadable]
    assert t.files['a.yaml'] == 'b' and t.env.params == {'secret': 's3', 'name': 'n'}
    assert t.get_section_name('resources') == 'resources' and 'resources' in t.SECTIONS
    t[t.RESOURCES].clear()
    t.t.clear()
    assert t[t.RESOURCES] and t.t               # what is given out may be changed


def test_the_template_of_the_other_format():
    t = stack(defined(CFN.replace('parameters', ''))).t
    assert t[t.RESOURCES]['lamp'] == {'Type': 'OS::Heat::None', 'Properties': {'a': 1}}
    assert t[t.MAPPINGS] == {'a': {'b': {'c': 'd'}}} and t[t.OUTPUTS] == {}
    assert t[t.DESCRIPTION] == 'No description'


def test_definitions_of_resources():
    seen = stack()
    found = seen.t.resource_definitions(seen)
    assert {name: each.name for name, each in found.items()} == {'lamp': 'lamp', 'other': 'other'}


def test_the_environment():
    env = stack().env
    assert env.param_defaults == {'length': 5}
    assert env.user_env_as_dict()['parameters'] == env.params and 'encrypted_param_names' not in env.user_env_as_dict()
    assert env.env_as_dict()['encrypted_param_names'] == []


def test_parameters():
    parameters = stack().parameters
    texts = parameters.map(str, lambda each: not each.name.startswith('OS::'))
    assert texts == {'length': '5', 'secret': '******', 'name': 'n'}
    shown = parameters.map(lambda each: each.value(), lambda each: not each.hidden() and each.user_value is not None)
    assert shown == {'name': 'n'}
    assert parameters.map(lambda each: each.default())['length'] == 5 and parameters.map(lambda each: each.label())
    missing = definitions.build(templates.load(HOT), Environment({}), {},
                                definitions.StackIdentity('s', 'i', 'p')).parameters
    with pytest.raises(exception.UserParameterMissing):
        missing.map(lambda each: each.value())


def test_a_resource():
    made = Bench('OS::Heat::TestResource', {'value': 'v'}, name='r').create()
    assert made.physical_resource_name_or_FnGetRefId() == made.physical_resource_name()
    unnamed = Bench('OS::Heat::TestResource', {'value': 'v'}, name='r').fresh('INIT', 'COMPLETE')
    assert unnamed.physical_resource_name_or_FnGetRefId() == 'r'
    assert not made.has_hook('pre-update')
    made.data_set('pre-update', 'True')
    assert made.has_hook('pre-update')
    made.clear_hook('pre-update')
    assert not made.has_hook('pre-update')


def test_what_others_see_of_a_resource():
    bench = Bench('OS::Heat::TestResource', {'value': 'v'}, name='r')
    bench.stack._references = {'r': {('output',), ('output', 0), ('such',)}}
    made = bench.create()
    node = made.node_data()
    assert (node.name, node.action, node.status, node.reference_id()) == (
        'r', 'CREATE', 'COMPLETE', made.get_reference_id())
    assert node.attributes() == {'output': 'v'} and set(node.attribute_names()) == {'output'}
    assert node.attribute(('output', 0)) == 'v'
    again = type(node).from_dict(node.as_dict())
    assert again.attributes() == node.attributes() and type(node).from_dict(node) is node
    assert node.as_dict()['attrs'] == {'output': 'v', ('output', 0): 'v'}
