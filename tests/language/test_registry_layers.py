"""One registry laid over another: what is applied, stored and shown is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception
from heatlite.engine.requests import sources
from heatlite.engine.resources import packed_types
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language import merging
from heatlite.language.environment import Environment
from heatlite.language.registry import Registry, layered
from tests.language.dry_run import OPERATOR as BUILT_IN

TYPES = ('A::X', 'A::XY', 'B::X')
NAMES = ('web', 'db', 'w*')
OPERATOR = Registry({name: object() for name in (*TYPES, 'OS::One', 'OS::Two')})
TARGETS = st.sampled_from(['OS::One', 'OS::Two', 'w.yaml', None])
TYPE_ENTRIES = st.dictionaries(st.sampled_from([*TYPES, 'A::*', 'A::X*', '*']), TARGETS, max_size=4)
SAID = st.fixed_dictionaries({}, optional={
    'hooks': st.sampled_from(['pre-create', ['pre-create', 'pre-update'], [], None]),
    'restricted_actions': st.sampled_from(['replace', ['update'], None]),
    'drift': st.sampled_from(['ignore', {'A::X': 'repair'}, {'A::X': None}, None]),
    'inner': st.one_of(st.none(), TYPE_ENTRIES)})
OWN = st.one_of(st.none(), st.tuples(SAID, TYPE_ENTRIES).map(lambda parts: {**parts[0], **parts[1]}))
RESOURCES = st.one_of(st.none(), st.dictionaries(st.sampled_from([*NAMES, '*']), OWN, max_size=3))
REGISTRIES = st.tuples(TYPE_ENTRIES, st.fixed_dictionaries({}, optional={'resources': RESOURCES})).map(
    lambda parts: {**parts[0], **parts[1]})
NO_TYPES = {'resources', 'hooks', 'restricted_actions', 'drift', 'import', 'base_url'}


def leaves(entries: Mapping[str, object], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in entries.items():
        if isinstance(value, Mapping) and key != 'import':
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def one_by_one(*layers: Mapping[str, object]) -> dict[tuple[str, ...], object]:
    """Put one leaf after the other to its place, the way Heat's registry takes them."""
    placed: dict[tuple[str, ...], object] = {}
    for path, value in (leaf for layer in layers for leaf in leaves(layer)):
        for known in list(placed):
            below = known[:len(path)] == path
            above = path[:len(known)] == known
            by_prefix = (value is None and path[-1].endswith('*') and len(known) == len(path)
                         and known[:-1] == path[:-1] and known[-1].startswith(path[-1][:-1])
                         and known[-1] not in NO_TYPES)
            if below or by_prefix or (above and value is not None):
                del placed[known]
        if value is not None:
            placed[path] = value
    return placed


@given(REGISTRIES, REGISTRIES)
def test_layers_are_as_one_entry_put_after_the_other(under, over):
    assert dict(leaves(layered(under, over))) == one_by_one(under, over)


@given(REGISTRIES)
def test_what_is_stored_means_what_was_given(entries):
    made = Environment({'resource_registry': entries}, OPERATOR)
    again = Environment(made.document(), OPERATOR)
    assert again.document() == made.document() and again.shown() == made.shown()
    for resource in (None, 'web', 'db'):
        assert [found(again, name, resource) for name in TYPES] == [found(made, name, resource) for name in TYPES]
        if resource is not None:
            assert again.restricted_actions(resource) == made.restricted_actions(resource)
            assert (again.child({}, resource).document()) == made.child({}, resource).document()


def found(environment: Environment, name: str, resource: str | None) -> object:
    try:
        return environment.find(name, resource)
    except exception.StackValidationFailed as error:
        return str(error)


@given(REGISTRIES, REGISTRIES)
def test_a_patch_means_the_stored_registry_with_that_of_the_request_on_top(stored, sent):
    kept = Environment({'resource_registry': stored}, OPERATOR).document()
    patched = sources.environment_over(kept, {'resource_registry': sent})
    expected = Environment({'resource_registry': layered(stored, sent)}, OPERATOR)
    assert Environment(patched, OPERATOR).document() == expected.document()


def test_layers_are_not_changed_and_not_shared():
    under, over = {'resources': {'a': {'T': 'x'}}}, {'resources': {'a': {'U': 'y'}}}
    made = layered(under, over)
    made['resources']['a']['V'] = 'z'
    assert (under, over) == ({'resources': {'a': {'T': 'x'}}}, {'resources': {'a': {'U': 'y'}}})


def test_a_patch_about_one_resource_keeps_what_protects_another():
    stored = {'resources': {'db': {'restricted_actions': ['update', 'replace'], 'My::T': 'w.yaml'}}}
    made = layered(stored, {'resources': {'web': {'hooks': 'pre-update'}, 'db': {'hooks': []}}})
    assert made['resources'] == {
        'db': {'restricted_actions': ['update', 'replace'], 'My::T': 'w.yaml', 'hooks': []},
        'web': {'hooks': 'pre-update'}}


def test_null_removes_one_entry_or_types_by_prefix_at_its_place():
    stored = {'My::A': 'x', 'My::B': 'y', 'resources': {'db': {'My::A': 'z', 'hooks': 'pre-create'}}}
    assert layered(stored, {'My::*': None}) == {'resources': stored['resources']}
    assert layered(stored, {'*': None}) == {'resources': stored['resources']}
    assert layered(stored, {'resources': {'db': {'*': None}}})['resources'] == {'db': {'hooks': 'pre-create'}}
    assert layered(stored, {'resources': {'db': None}})['resources'] == {}
    assert layered({'b': 'x', 'base_url': 'u'}, {'*': None}, {'b*': None}) == {'base_url': 'u'}
    assert layered({'base_url': 'u'}, {'base_url': None}) == {}


def test_an_import_is_replaced():
    stored = {'resources': {'a': {'import': {'id': '1'}}}}
    assert layered(stored, {'resources': {'a': {'import': {'name': 'n'}}}})['resources']['a'] == {
        'import': {'name': 'n'}}


def test_types_removed_by_a_wildcard_stay_removed():
    made = Environment({'resource_registry': {'A::X': 'w.yaml', 'A::*': None}}, OPERATOR)
    assert made.shown()['resource_registry'] == {'resources': {}}
    inside = {'resources': {'db': {'A::X': 'w.yaml', 'A::*': None}}}
    assert Environment({'resource_registry': inside}, OPERATOR).shown()['resource_registry'] == {
        'resources': {'db': {}}}


@pytest.mark.parametrize('own', [
    {'k': {'a': {'restricted_actions': 'update'}}, '*': {'a': {'restricted_actions': 'replace'}}},
    {'*': {'a': {'restricted_actions': 'replace'}}, 'k': {'a': {'restricted_actions': 'update'}}},
    {'k': {'a': {'restricted_actions': 'update'}}, 'k*': {'a': {'hooks': []}}}])
def test_inside_a_nested_stack_the_exact_name_comes_over_patterns(own):
    child = Environment({'resource_registry': {'resources': own}}).child({}, 'k')
    assert child.restricted_actions('a') == ['update']


def test_what_a_pattern_alone_says_of_an_inner_resource_stays():
    own = {'k': {'a': {'hooks': 'pre-update'}}, '*': {'a': {'restricted_actions': 'replace'}}}
    child = Environment({'resource_registry': {'resources': own}}).child({}, 'k')
    assert child.hooks('a', 'pre-update') and child.restricted_actions('a') == ['replace']


@pytest.mark.parametrize('own', [
    {'k': {'drift': {'T': 'ignore'}}, '*': {'drift': {'T': 'repair'}}},
    {'*': {'drift': {'T': 'repair'}}, 'k': {'drift': {'T': 'ignore'}}}])
def test_drift_inside_follows_the_exact_name(own):
    assert Environment({'resource_registry': {'resources': own}}).child({}, 'k').drift_policy('x', 'T') == 'ignore'


@pytest.mark.parametrize('key', ['hooks', 'restricted_actions', 'drift'])
def test_null_says_nothing_of_a_resource(key):
    for own in ({'r': {key: None}}, {'r*': {key: None}}, {'r': {'inner': {key: None}}}):
        made = Environment({'resource_registry': {'resources': own}})
        assert made.restricted_actions('r') == []
        assert made.drift_policy('r', 'T') == 'report'
    assert Environment({'resource_registry': {key: None, 'resources': {key: None}}}).shown()[
        'resource_registry'] == {'resources': {}}


def test_an_import_of_null_is_refused():
    with pytest.raises(exception.StackValidationFailed, match='An import must be a map'):
        Environment({'resource_registry': {'resources': {'r': {'import': None}}}})


def test_a_patch_is_checked_even_where_it_removes():
    with pytest.raises(exception.StackValidationFailed):
        sources.environment_over({}, {'resource_registry': {'A': 5, 'A*': None}})


FILES = ({'A::B': 'o.yaml', 'resources': {'r': {'A::B': 'o.yaml'}}}, {'resources': {'r': {'C::D': 'p.yaml'}}},
         {'A::*': None})


def test_files_of_the_operator_mean_the_same_to_the_service_and_to_lint():
    service = TypeRegistry()
    for name, value in BUILT_IN.entries.items():
        service.register(name, value)
    for file in FILES:
        service.load_environment({'resource_registry': file})
    lint = packed_types.operator_registry(FILES)
    assert service.operator.entries['resources'] == lint.entries['resources'] == {
        'r': {'A::B': 'o.yaml', 'C::D': 'p.yaml'}}
    assert 'A::B' not in service.operator.entries and 'A::B' not in lint.entries


def test_files_of_one_request_replace_whole_entries_and_ignore_null():
    files = {'a': 'resource_registry: {"A::B": x, resources: {r: {hooks: pre-create}}}',
             'b': 'resource_registry: {"A::B": null, "A::*": null, resources: null}',
             'c': 'resource_registry: {resources: {s: {hooks: pre-update}}}'}
    assert merging.merge_files(['a', 'b'], files, {}, {})['resource_registry'] == {
        'A::B': 'x', 'resources': {'r': {'hooks': 'pre-create'}}}
    assert merging.merge_files(['a', 'c'], files, {}, {})['resource_registry']['resources'] == {
        's': {'hooks': 'pre-update'}}
    assert merging.merge_files(['b'], files, {}, {})['resource_registry'] == {
        'A::B': None, 'A::*': None, 'resources': None}


@pytest.mark.parametrize('section', ['event_sinks', 'encrypted_param_names'])
def test_a_patch_adds_to_lists(section):
    first, second = ({'type': 'x'}, {'type': 'y'}) if section == 'event_sinks' else ('a', 'b')
    assert sources.environment_over({section: [first]}, {section: [second, first]})[section] == [first, second]
    assert sources.environment_over({section: [first]}, {})[section] == [first]
    assert sources.environment_over({}, {section: [second]})[section] == [second]
