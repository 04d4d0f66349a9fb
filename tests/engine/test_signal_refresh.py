"""Which resources are refreshed after a signal, and which errors of that end it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from heatlite.common import exception
from heatlite.engine.reconcile.signal_refresh import Neighbours, attempt
from heatlite.language import definition, template
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from tests.db.rows import state


def thing(*needs: str, **parts: Any) -> dict[str, Any]:
    return {'type': 'OS::Heat::TestResource', 'depends_on': list(needs), **parts}


RESOURCES = {
    'net': thing(),
    'server': thing('net', metadata={'of': {'get_resource': 'net'}}),
    'disk': thing('server', metadata={'plain': 'a'}),
    'alone': thing(metadata={'own': {'get_param': 'OS::stack_name'}}),
    'watch': thing('server', 'disk', metadata={'deep': [{'at': {'get_attr': ['disk', 'output']}}]}),
}


@pytest.fixture(scope='module')
def neighbours() -> Neighbours:
    document = template.from_mapping({'heat_template_version': '2018-08-31', 'resources': RESOURCES})
    return Neighbours(definition.build(document, Environment(), {}, StackIdentity('s', None, 'p')))


@pytest.mark.parametrize('signalled, around', [
    ({}, []),
    ({'alone': ()}, ['alone']),
    ({'net': ()}, ['net', 'server']),
    ({'server': ('net',)}, ['server', 'net', 'disk', 'watch']),
    ({'server': ('older',)}, ['server', 'older', 'disk', 'watch']),      # it was applied with other requirements
    ({'disk': ('server',), 'server': ('net',)}, ['disk', 'server', 'watch', 'net']),
    ({'gone': ('net',)}, ['gone', 'net']),                               # the definition has it no more
])
def test_what_is_around_signalled_resources(neighbours: Neighbours, signalled: dict[str, tuple[str, ...]],
                                            around: list[str]) -> None:
    rows = {name: state(name=name, requires=requires) for name, requires in signalled.items()}
    assert list(neighbours.around(rows)) == around


def test_whose_metadata_follows(neighbours: Neighbours) -> None:
    assert neighbours.followers == ['server', 'watch']


@pytest.mark.parametrize('error', [exception.Error('refused'), ValueError('a defect of the type')])
def test_errors_of_types_are_logged(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise error

    with caplog.at_level(logging.INFO):
        attempt('s1', fail, 'Attributes of %s in stack %s were not read', 'server')
    assert 'Attributes of server in stack s1 were not read' in caplog.text and str(error) in caplog.text


def test_an_outage_is_no_error_of_a_type() -> None:
    def fail() -> None:
        raise exception.DatabaseUnavailable(reason='away')

    with pytest.raises(exception.DatabaseUnavailable):
        attempt('s1', fail, 'Attributes of %s in stack %s were not read', 'server')
