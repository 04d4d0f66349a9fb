"""Environments, the registry and the merging of files, beyond the case file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.language import environment as environments
from heatlite.language import merging
from heatlite.language.environment import Environment
from heatlite.language.registry import Registry, with_imports


class Server:
    """Stands for a class of the operator's registry."""


class Other:
    """Another one."""


OPERATOR = Registry({'OS::Server': Server, 'OS::Other': Other, 'Old::Server': 'OS::Server', 'Op::T': 'op.yaml'})


def registry(**entries):
    return Environment({'resource_registry': entries}, OPERATOR).registry


def test_targets_may_be_any_object():
    assert registry().resolve('OS::Server') is Server
    assert registry().resolve('Old::Server') is Server
    assert registry().resolve('Op::T') == 'op.yaml'


def test_what_was_found_and_how():
    found = registry(**{'My::*': 'OS::*'}).find('My::Server', 'r')
    assert (found.target, found.path, found.is_user, found.type_name) == (Server, ('My::*',), True, 'OS::Server')
    found = registry().find('OS::Server')
    assert (found.path, found.is_user, found.is_template) == (('OS::Server',), False, False)
    found = registry(resources={'r': {'OS::Server': 'mine.yaml'}}).find('OS::Server', 'r')
    assert (found.target, found.path, found.is_template) == ('mine.yaml', ('resources', 'r', 'OS::Server'), True)


def test_per_resource_entries_do_not_leak():
    found = registry(resources={'r': {'OS::Server': 'OS::Other'}})
    assert found.resolve('OS::Server', 'r') is Other
    assert found.resolve('OS::Server', 's') is Server


def test_an_operators_entry_never_leads_to_a_users():
    assert registry(**{'OS::Server': 'OS::Other'}).resolve('Old::Server') is Server


def test_circles_are_told_but_do_not_hide_the_built_in_type():
    with pytest.raises(exception.StackValidationFailed, match='in a circle'):
        registry(A='B', B='A').resolve('A')
    with pytest.raises(exception.StackValidationFailed, match='in a circle'):
        registry(A='A').resolve('A')
    assert registry(**{'OS::*': 'My::*', 'My::*': 'OS::*'}).resolve('OS::Server') is Server


def test_unknown_types_are_named_as_written():
    with pytest.raises(exception.StackValidationFailed, match=r'The Resource Type \(My::X\) could not be found.'):
        registry(**{'My::*': 'No::*'}).resolve('My::X')


@pytest.mark.parametrize('entries', [
    {'A': 5}, {'A': ['b']}, {'resources': ['a']}, {'resources': 'a'}, {'resources': {'r': {'A': 5}}}])
def test_entries_of_the_wrong_kind_are_the_users_fault(entries):
    with pytest.raises(exception.StackValidationFailed):
        Environment({'resource_registry': entries})


def test_hooks_match_by_pattern_and_add_up():
    made = Environment({'resource_registry': {'resources': {
        'web*': {'hooks': 'pre-create'}, 'web1': {'hooks': ['pre-create', 'post-update'],
                                                  'restricted_actions': 'replace'},
        '*': {'restricted_actions': ['update']}}}})
    assert made.hooks('web2', 'pre-create')
    assert not made.hooks('web2', 'post-update')
    assert made.hooks('web1', 'post-update')
    assert made.restricted_actions('web1') == ['replace', 'update']
    assert made.restricted_actions('db') == ['update']


def test_the_environment_of_a_nested_stack():
    parent = Environment({
        'parameters': {'p': 1}, 'parameter_defaults': {'d': 2}, 'event_sinks': [{'type': 'zaqar-queue'}],
        'resource_registry': {'T': 'child.yaml', 'U': 'OS::Other', 'resources': {
            'c': {'inner': {'hooks': 'pre-create'}, 'hooks': 'pre-delete', 'U': 'OS::Server'},
                'd': {'x': {}}}}}, OPERATOR)
    used = parent.find('T', 'c').path
    child = parent.child({'q': 3}, 'c', used)
    assert child.parameters == {'q': 3}
    assert child.parameter_defaults == {'d': 2}
    assert child.event_sinks == parent.event_sinks and child.are_sinks_accepted
    assert child.hooks('inner', 'pre-create')
    assert child.resource_registry['resources'] == {'inner': {'hooks': 'pre-create'}, 'U': 'OS::Server'}
    assert child.registry.resolve('U') is Other
    with pytest.raises(exception.StackValidationFailed):
        child.find('T', 'anything')


def test_documents_round_trip():
    sections = environments.parse('parameters: {a: 2020-01-01}\nencrypted_param_names: [a]\n', {'b': 1})
    assert Environment(Environment(sections).document()).document() == Environment(sections).document()
    assert sections['parameters'] == {'a': '2020-01-01', 'b': 1}


@pytest.mark.parametrize('text, said', [
    ('parameters: [a]', 'must be a map'), ('event_sinks: {a: 1}', 'must be a list'),
    ('encrypted_param_names: [[]]', 'must be a list of names'), ('nope: {}', 'wrong section "nope"'),
    ('parameters:', 'empty section'), ('[', 'while parsing a flow node'), ('5', 'not a valid YAML mapping')])
def test_unreadable_environments(text, said):
    with pytest.raises(exception.HTTPBadRequest, match='^Environment not in valid format: ') as caught:
        environments.parse(text)
    assert said in str(caught.value)


KINDS = {'s': 'string', 'l': 'list', 'j': 'map', 'n': 'number'}


def merged(*texts, parameters=None):
    files = {f'{place}.yaml': text for place, text in enumerate(texts)}
    return merging.merge_files(list(files), files, parameters or {}, KINDS)['parameters']


def test_mixed_forms_of_lists_merge():
    assert merged('parameter_merge_strategies: {default: merge}\nparameters: {l: [a]}',
                  'parameter_merge_strategies: {default: merge}\nparameters: {l: "b,c"}') == {'l': ['a', 'b', 'c']}


def test_merging_does_not_share_values():
    deep = 'parameter_merge_strategies: {j: deep_merge}\nparameters: {j: {a: {b: [1]}}}'
    assert merged(deep, deep, deep) == {'j': {'a': {'b': [1, 1, 1]}}}


@pytest.mark.parametrize('texts, error', [
    (['parameter_merge_strategies: {n: merge}\nparameters: {n: 1}'] * 2, exception.InvalidMergeStrategyForParam),
    (['parameter_merge_strategies: {j: merge}\nparameters: {j: "["}'] * 2, exception.HTTPBadRequest),
    (['parameters: {s: a}\nparameter_merge_strategies: {s: merge}',
      'parameters: {s: a}\nparameter_merge_strategies: {s: deep_merge}'], exception.ConflictingMergeStrategyForParam)])
def test_merge_errors_are_the_users(texts, error):
    with pytest.raises(error) as caught:
        merged(*texts)
    assert caught.value.http_code == 400


def test_a_missing_file_is_named():
    with pytest.raises(exception.HTTPBadRequest, match='"nope.yaml" is not among the files'):
        merging.merge_files(['nope.yaml'], {}, {}, KINDS)


def test_a_file_that_is_named_often_is_parsed_once(monkeypatch):
    parsed = []
    read = environments.read
    monkeypatch.setattr(environments, 'read', lambda text, limits: parsed.append(text) or read(text, limits))
    text = 'parameter_merge_strategies: {l: merge}\nparameters: {l: [a]}\nevent_sinks: [{type: x}]'
    found = merging.merge_files(['e'] * 5, {'e': text}, {}, KINDS)
    assert parsed == [text]
    assert found['parameters'] == {'l': ['a'] * 5} and len(found['event_sinks']) == 5


@pytest.mark.parametrize('section', [
    'parameters: {l: [a, b, c, d, e, f, g]}', 'parameters: {s: "%s"}' % ('x' * 100), 'parameters: {j: {%s: 1}}' % (
        'x' * 100), 'resource_registry: {%s: b}' % ('x' * 100), 'encrypted_param_names: [a, b, c, d, e, f, g]'])
def test_merged_files_are_limited_as_one_is(section):
    files = {'e': f'parameter_merge_strategies: {{default: merge}}\n{section}'}
    limits = Limits(max_expansion=100)
    merging.merge_files(['e'] * 2, files, {}, KINDS, limits)
    with pytest.raises(exception.RequestLimitExceeded, match='option max_template_expansion'):
        merging.merge_files(['e'] * 20, files, {}, KINDS, limits)


def test_texts_of_json_are_limited_as_what_they_become():
    files = {'e': json.dumps({'parameter_merge_strategies': {'j': 'deep_merge'},
                              'parameters': {'j': json.dumps({'a': [1] * 100})}})}
    limits = Limits(max_expansion=1000)
    merging.merge_files(['e'] * 5, files, {}, KINDS, limits)
    with pytest.raises(exception.RequestLimitExceeded, match='option max_template_expansion'):
        merging.merge_files(['e'] * 20, files, {}, KINDS, limits)


def test_merging_counts_its_steps(monkeypatch):
    spent = []
    monkeypatch.setattr(merging.turns, 'spend', lambda steps=1: spent.append(steps))
    text = json.dumps({'parameter_merge_strategies': {'default': 'merge'}, 'parameters': {
        'l': ['a'] * 2000, 'j': {f'k{number}': 1 for number in range(2000)}}})
    merging.merge_files(['e'] * 50, {'e': text}, {}, KINDS)
    assert sum(spent) >= 50 * (2000 + 50 * 2000 // 2 // merging.ITEMS_A_STEP)


VALUES = st.fixed_dictionaries({}, optional={
    's': st.text(max_size=3), 'l': st.lists(st.text(max_size=2), max_size=2), 'n': st.integers(),
    'j': st.dictionaries(st.sampled_from('ab'), st.integers() | st.none(), max_size=2)})


@given(st.lists(VALUES, max_size=4))
def test_without_strategies_the_last_value_wins(files):
    expected = {}
    for values in files:
        expected.update(values)
    assert merged(*(json.dumps({'parameters': values}) for values in files)) == expected


def test_the_most_specific_drift_policy_holds():
    made = Environment({'resource_registry': {
        'drift': {'*': 'report', 'OS::Nova::*': 'repair', 'OS::Nova::KeyPair': 'ignore'},
        'resources': {'web*': {'drift': {'OS::Nova::*': 'replace'}}, 'web1': {'drift': 'ignore'},
                      'group': {'drift': {'*': 'repair'}, 'inner': {'drift': {'*': 'ignore'}}}}}})
    assert [made.drift_policy(*each) for each in (
        ('db', 'OS::Cinder::Volume'), ('db', 'OS::Nova::Server'), ('db', 'OS::Nova::KeyPair'),
        ('web2', 'OS::Nova::Server'), ('web2', 'OS::Cinder::Volume'), ('web1', 'OS::Nova::Server'))] == [
        'report', 'repair', 'ignore', 'replace', 'report', 'ignore']
    inside = made.child({}, 'group')
    assert inside.drift_policy('other', 'OS::Cinder::Volume') == 'repair'
    assert inside.drift_policy('other', 'OS::Nova::KeyPair') == 'ignore'        # the stack says so of the type
    assert inside.drift_policy('inner', 'OS::Cinder::Volume') == 'ignore'
    assert Environment().drift_policy('a', 'b') == 'report'


def test_a_resource_may_be_called_drift():
    made = Environment({'resource_registry': {'resources': {'drift': {'hooks': 'pre-create'}}}})
    assert made.hooks('drift', 'pre-create') and made.drift_policy('drift', 'T') == 'report'


def test_imports_reach_nested_stacks_and_not_their_own_resource():
    given = {'resources': {'a': {'import': {'id': 'x'}}, 'group': {'0': {'import': {'name': 'n'}}}}}
    made = Environment({'resource_registry': given})
    assert made.has_imports() and made.import_of('a') == {'id': 'x'}
    assert made.import_of('group') is None and made.import_of('c') is None
    assert made.child({}, 'a').import_of('a') is None and not made.child({}, 'a').has_imports()
    assert made.child({}, 'group').import_of('0') == {'name': 'n'}
    assert not Environment().has_imports()


def test_imports_of_a_request_come_over_the_environment():
    given = {'resources': {'a': {'hooks': 'pre-create', 'import': {'id': 'x'}}}, 'T': 'U'}
    found = with_imports(given, {'a': {'id': 'y'}, 'g/0': {'tag': 't'}})
    assert found == {'T': 'U', 'resources': {'a': {'hooks': 'pre-create', 'import': {'id': 'y'}},
                                             'g': {'0': {'import': {'tag': 't'}}}}}
    assert given['resources']['a']['import'] == {'id': 'x'}


def test_a_resource_may_be_called_import():
    made = Environment({'resource_registry': {'resources': {'import': {'import': {'id': 'x'}}}}})
    assert made.import_of('import') == {'id': 'x'}


@pytest.mark.parametrize('entries, name, target', [
    ({'T::*': 'OS::*'}, 'T::x.yaml', 'OS::x.yaml'), ({'T::*': 'OS::*'}, 'T::x.template', 'OS::x.template'),
    ({'T::*': 'OS::Server'}, 'T::x.yaml', Server),
    ({'T::*': 'Lost::Type'}, 'T::x.yaml', 'T::x.yaml'),         # leads nowhere: it is skipped
    ({'T::*': 'T::*'}, 'T::x.yaml', 'T::x.yaml'),
    ({'T::*': 'U::*', 'U::*': 'T::*'}, 'T::x.yaml', 'U::x.yaml'),
    ({'T::x.yaml': 'OS::Server'}, 'T::x.yaml', 'T::x.yaml'),    # only wildcards come before the name
    ({'T::*': 'other.yaml'}, 'T::x.yaml', 'T::x.yaml'),         # no wildcard, as its target is a template
    ({'T::*': 'OS::*'}, 'x.yaml', 'x.yaml')])
def test_wildcards_of_users_hold_for_names_of_templates(entries, name, target):
    """As in Heat: entries are tried in the order of their keys, and `*` sorts before the rest of a name."""
    assert registry(**entries).find(name, 'r').target == target


def test_wildcards_of_operators_do_not():
    operator = Registry({'OS::Server': Server, 'T::*': 'OS::Server'})
    assert Environment({}, operator).registry.find('T::x.yaml', 'r').target == 'T::x.yaml'


@pytest.mark.parametrize('text', ['parameter_defaults: []', 'event_sinks: {}', 'encrypted_param_names: {}'])
def test_empty_sections_may_be_of_the_other_kind(text):
    name = text.partition(':')[0]
    assert environments.parse(text)[name] == ({} if name == 'parameter_defaults' else [])
    assert merging.merge_files(['a'], {'a': text}, {}, {})[name] == environments.parse(text)[name]
