"""The table is complete, and what it names exists."""

import ast
import functools
import pathlib

import pytest

from tests.isolation import here
from tests.security import page, table
from tests.security.doors import BODIES, DOORS, asked, ids, with_bodies

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_door_has_an_entry_and_no_other():
    assert {(door.api, door.name) for door in DOORS} == set(table.ENTRIES)


def test_every_body_has_an_example():
    assert {door.name for door in with_bodies()} == set(BODIES)


@functools.cache
def functions(path):
    """The functions of a file that are tests, of its classes too."""
    return {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
            and node.name.startswith('test_')}


@pytest.mark.parametrize('risk', table.Risk)
def test_every_test_that_is_named_exists(risk):
    for door in DOORS:
        found = table.proof(risk, door)
        assert found.what
        for name in found.tests:
            path, _colons, function = name.partition('::')
            assert not function or function in functions(path), name
            assert functions(path), name


def test_every_bound_and_flow_is_used():
    assert {each.bound for each in table.ENTRIES.values()} == set(table.BOUNDS)
    assert {each.flow for each in table.ENTRIES.values()} - {''} == set(table.FLOWS)


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_whether_an_engine_is_asked(place, door):
    """The answers of other services reach only those requests for which the table says so."""
    place.request(door, asked(door, here.VICTIMS), roles='admin,member,reader')
    assert bool(place.engine.sent) is table.ENTRIES[door.api, door.name].asks


def test_the_page_is_current():
    assert page.PAGE.read_text() == page.written(), 'run python -m tests.security'
