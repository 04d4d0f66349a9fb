"""What besides its own properties can change a nested stack: the environment, and the files that it may use."""

from __future__ import annotations

import json

import pytest

from heatlite.common import turns
from heatlite.common.template_files import Files
from heatlite.language.environment import Environment
from heatlite.language.influence import Influence
from heatlite.language.registry import Registry
from tests.steps import is_linear

TEMPLATE = 'heat_template_version: 2018-08-31\nresources:\n'


def template(*types, more=''):
    return TEMPLATE + ''.join(f'  r{number}: {{type: {name}}}\n' for number, name in enumerate(types)) + more


def influence(files, registry=None, operator=None, **sections):
    environment = Environment({'resource_registry': registry or {}, **sections}, Registry(operator or {}))
    return Influence(environment, Files(files))


def on(files, type_name='a.yaml', properties=None, **environment):
    return influence(files, **environment).on({'type': type_name, 'properties': properties or {}})


TREE = {'a.yaml': template('b.yaml'), 'b.yaml': template('OS::Heat::None'), 'c.yaml': template('OS::Heat::None')}
LEAD_TO_C = [
    pytest.param(template('c.yaml'), id='as a type'),
    pytest.param(TEMPLATE + '  s: {type: X, properties: {text: {get_file: c.yaml}}}', id='get_file'),
    pytest.param(json.dumps({'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'c.yaml'}}}),
                 id='JSON'),
    pytest.param(TEMPLATE + '  r:\n    type:\n      c.yaml\n', id='on the next line'),
    pytest.param(TEMPLATE + '  r:\n    type: &name c.yaml\n  s:\n    type: X\n', id='with an anchor'),
    pytest.param(TEMPLATE + '  r: {"type":&name c.yaml}\n  s: {type: X}\n', id='with an anchor behind a quote'),
    pytest.param(TEMPLATE + '  r:\n    type :  !!str  &name "c.yaml"\n', id='with a tag and an anchor'),
    pytest.param(TEMPLATE + '  r:\n    ? type\n    : !!str\n      c.yaml\n', id='behind an explicit key'),
    pytest.param(TEMPLATE + '  r:\n    type: "c\\x2eyaml"\n', id='with an escape'),
    pytest.param(TEMPLATE + '  r: {type: X, properties: {resource_def: {type: c.yaml}}}', id='group'),
    pytest.param(template('My::Type'), id='by the registry'),
    pytest.param(template('Other::Name'), id='by two entries of the registry'),
]


@pytest.mark.parametrize('text', LEAD_TO_C)
def test_a_file_that_is_mentioned_has_an_influence(text):
    """As is one behind it; what cannot be read for certain counts as unknown."""
    registry = {'My::Type': 'c.yaml', 'Other::Name': 'My::Type'}
    before = on({**TREE, 'b.yaml': text}, registry=registry)
    after = on({**TREE, 'b.yaml': text, 'c.yaml': template('OS::Heat::RandomString')}, registry=registry)
    assert before is None or before != after


def test_a_file_that_is_not_mentioned_has_none():
    before, after = on(TREE), on({**TREE, 'c.yaml': template('OS::Heat::RandomString'), 'd.yaml': 'new'})
    assert before is not None and before == after


def test_a_file_named_by_a_property_has_an_influence():
    properties = {'resource_def': {'type': 'c.yaml'}}
    before = on(TREE, 'OS::Heat::ResourceGroup', properties)
    assert before != on({**TREE, 'c.yaml': 'other'}, 'OS::Heat::ResourceGroup', properties)


def test_a_file_named_by_a_default_has_an_influence():
    defaults = {'member': 'c.yaml'}
    assert on(TREE, parameter_defaults=defaults) != on({**TREE, 'c.yaml': 'other'}, parameter_defaults=defaults)


@pytest.mark.parametrize('sections', [
    {'parameter_defaults': {'size': 2}}, {'registry': {'X::Y': 'OS::Heat::None'}},
    {'event_sinks': [{'type': 'zaqar-queue', 'target': 'q'}]}], ids=lambda sections: next(iter(sections)))
def test_the_environment_has_an_influence(sections):
    assert on(TREE) != on(TREE, **sections)


def test_parameters_of_the_parent_have_none():
    """They reach a nested stack as properties only."""
    assert on(TREE, parameters={'size': 1}) == on(TREE, parameters={'size': 2})


def test_the_order_of_entries_has_none():
    assert on(TREE, parameter_defaults={'a': 1, 'b': 2}) == on(TREE, parameter_defaults={'b': 2, 'a': 1})


@pytest.mark.parametrize('files, type_name, properties, operator', [
    ({}, 'http://templates.example/a.yaml', {}, {}),
    ({'a.yaml': template('http://templates.example/b.yaml')}, 'a.yaml', {}, {}),
    ({'a.yaml': TEMPLATE + '  r:\n    type: *name\n'}, 'a.yaml', {}, {}),
    ({'a.yaml': template('AWS::CloudFormation::Stack', more='    x: {TemplateURL: http://x}')}, 'a.yaml', {}, {}),
    ({}, 'AWS::CloudFormation::Stack', {'TemplateURL': 'http://templates.example/a'}, {}),
    ({}, 'Corp::Server', {}, {'Corp::Server': 'file:///etc/heatlite/templates/server.yaml'}),
    ({}, 'OS::Heat::ResourceGroup', {'resource_def': {'type': 'http://templates.example/a.yaml'}}, {}),
])
def test_templates_that_are_not_among_the_files_are_unknown(files, type_name, properties, operator):
    assert on(files, type_name, properties, operator=operator) is None


def test_names_of_files_in_scripts_are_no_templates():
    """A script that writes a file of that name uses no template."""
    files = {'a.yaml': template('OS::Heat::None', more='  s: {type: X, properties: {text: {get_file: install.sh}}}'),
             'install.sh': 'cp settings.yaml /etc/netplan/50-cloud.yaml'}
    assert on(files) is not None
    assert on(files) != on({**files, 'install.sh': 'true'})


def test_a_circle_of_files_and_of_types_ends():
    assert on({'a.yaml': template('b.yaml'), 'b.yaml': template('a.yaml', 'X::A')},
              registry={'X::A': 'X::B', 'X::B': 'X::A'}) is not None


ANY_NAME = 'text: "\\/"'


def any_names(size):
    """Files that may each mention all others; a name of the registry for each; a nested stack with the first."""
    return influence({f'a.{number}': ANY_NAME for number in range(size)},
                     {f'My.{number}': f'a.{number}' for number in range(size)})


def test_files_that_mention_any_name_cost_their_number():
    assert is_linear(lambda size: any_names(size).on({'type': 'X', 'properties': {'p': 'a.0'}}), 1000)


def test_files_that_mention_any_name_spend_turns(monkeypatch):
    made, taken = any_names(2000), []
    made.on({'type': 'X', 'properties': {'p': 'a.0'}})
    monkeypatch.setattr(turns, '_turn', lambda *owners: taken.append(owners))
    made.on({'type': 'X', 'properties': {'p': 'a.0'}})
    assert len(taken) >= 2000 // turns.EVERY


def test_a_file_that_mentions_any_name_leads_to_all():
    files = {'a.0': ANY_NAME, 'b.0': 'x', 'c.0': 'y'}
    assert on(files, 'X', {'p': 'a.0'}) != on({**files, 'c.0': 'z'}, 'X', {'p': 'a.0'})
    assert on({**files, 'c.0': 'type: http://host/t.yaml'}, 'X', {'p': 'a.0'}) is None
