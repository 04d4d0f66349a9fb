"""Texts in YAML that the engine writes for services: bounded, with turns for other requests, as PyYAML writes them."""

from __future__ import annotations

import re

import pytest
import yaml

from heatlite.common import exception, template_format, turns, yaml_writing
from heatlite.common.limits import MOST_WRITTEN
from tests.architecture.source import ROOT

SHARED = {'a': 1}
CASES = [
    {}, {'a': 'x\ny', 'b': [1, 2, {'c': None}], 'é': '☃', 't': True, 's': 'true', 'n': '1', 'd': '2001-01-01', 'e': ''},
    {'long': 'x' * 200 + ' y', 'words': 'long ' * 40, 'lines': 'a\n b\n\nc', 'tab': 'a\tb', ' lead ': "it's: #"},
    {'one': SHARED, 'two': SHARED}]
TOO_LARGE = {'numbers': {'a': [0] * MOST_WRITTEN}, 'a text': {'a': 'x' * 16 * MOST_WRITTEN},
             'a shared text': {'a': ['x' * 16_000] * 100}}


@pytest.fixture
def turn():
    taken = []
    turns.use(lambda *owners: taken.append(owners))
    yield taken
    turns.use(None)


@pytest.mark.parametrize('value', CASES)
def test_it_is_the_text_of_the_slow_writer(value):
    assert yaml_writing.dumped(value, 'it') == yaml.safe_dump(value, default_flow_style=False)


@pytest.mark.parametrize('value', TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_too_large_is_refused(value):
    with pytest.raises(exception.RequestLimitExceeded, match=f'The config has more than {MOST_WRITTEN} values'):
        yaml_writing.dumped(value, 'The config')


def test_others_run_while_it_is_written(turn):
    yaml_writing.dumped({'a': [0] * 10_000}, 'it')
    assert len(turn) > 10_000 // turns.EVERY


def test_a_template_is_written_resource_by_resource(turn):
    resources = {f'r{number}': {'type': 'T', 'properties': {**case, 'both': [SHARED, SHARED]}}
                 for number, case in enumerate(CASES * 500)}
    document = {'heat_template_version': '2018-08-31', 'resources': resources}
    text = yaml_writing.template_text(document)
    assert template_format.parse(text) == document
    assert list(template_format.parse(text)['resources']) == list(resources)
    assert len(turn) > 10 * len(resources) // turns.EVERY


def test_a_template_without_resources():
    document = {'heat_template_version': '2018-08-31', 'resources': {}}
    assert template_format.parse(yaml_writing.template_text(document)) == document


def test_the_engine_writes_yaml_nowhere_else():
    dumps = re.compile(r'yaml\.\w*dump|Dumper')
    assert [str(path) for path in (ROOT / 'heatlite' / 'engine').rglob('*.py') if dumps.search(path.read_text())] == []
