"""The JSON Schema of HOT: valid, and of the same opinion as the service about structure."""

import jsonschema_rs
import pytest
import yaml

from heatlite.authoring import explaining, json_schema
from heatlite.engine.resources import packed
from tests.architecture import source
from tests.language import run_cases

SCHEMA = json_schema.document()
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)
CASES = run_cases.load(str(source.ROOT / 'tests/language/template-cases.yaml'))
# The service does not look inside a property that refers to a resource before it has the value.
LATER = {'prop-unresolved-skips-nested-checks', 'prop-unresolved-unknown-child-key-not-seen'}
OPERATIONS = ('validate', 'resolve', 'dependencies')
HEAD = {'heat_template_version': '2021-04-16'}


def errors(document):
    return [f'{each.instance_path}: {each.message[:200]}' for each in VALIDATOR.iter_errors(document)]


def test_the_schema_is_valid():
    jsonschema_rs.meta.validate(SCHEMA)


@pytest.mark.parametrize('path', sorted((source.ROOT / 'examples').glob('*.yaml')), ids=lambda path: path.name)
def test_examples_are_accepted(path):
    document = yaml.load(path.read_text(), run_cases.templates.template_format.yaml_loader)
    if 'heat_template_version' in document:
        assert errors(document) == []


def test_what_the_service_takes_is_accepted():
    """All HOT templates that a real Heat took."""
    wrong = {}
    taken = 0
    for case in CASES:
        if case.get('op') not in OPERATIONS or 'error' in case['expect'] or 'quirk' in case:
            continue
        try:
            document = run_cases.document_of(case)
            if 'heat_template_version' not in document:
                continue
            run_cases.validated(case)
        except Exception:                           # of a type that is not known without plug-ins
            continue
        taken += 1
        found = errors(document)
        if found:
            wrong[case['name']] = found
    assert taken > 300
    assert wrong.keys() == LATER


@pytest.mark.parametrize('document', [
    {}, {**HEAD, 'resource': {}}, {'heat_template_version': '2021-04-61'}, {**HEAD, 'resources': []},
    {**HEAD, 'resources': {'r': {}}}, {**HEAD, 'resources': {'r': {'type': 'OS::Heat::None', 'property': {}}}},
    {**HEAD, 'parameters': {'p': {'typ': 'string'}}}, {**HEAD, 'parameters': {'p': {'type': 'text'}}},
    {**HEAD, 'outputs': {'o': {'valeu': 1}}},
    {**HEAD, 'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'lenght': 1}}}},
    {**HEAD, 'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'length': 0}}}},
    {**HEAD, 'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {'length': [1]}}}},
    {**HEAD, 'resources': {'r': {'type': 'OS::Heat::Value'}}},
    {**HEAD, 'resources': {'r': {'type': 'OS::Heat::RandomString', 'properties': {
        'character_classes': [{'clas': 'digits'}]}}}},
], ids=range(14))
def test_wrong_structure_is_refused(document):
    assert errors(document)


@pytest.mark.parametrize('name', sorted(packed.names()))
def test_the_example_of_a_type_is_accepted(name):
    resources = yaml.safe_load('\n'.join(explaining.example(name)))
    assert errors({**HEAD, 'resources': resources}) == []
