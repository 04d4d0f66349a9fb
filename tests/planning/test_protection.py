"""Protections as values: patterns, what denies what, and what is inside."""

from __future__ import annotations

import pytest

from heatlite.planning.plan import EVERYTHING, Permissions
from heatlite.planning.protection import UNGUARDED, Denial, Protection, guard, parsed
from heatlite.planning.states import Action


def protection(path, *deny, reason=''):
    return Protection(parsed(path), frozenset(map(Denial, deny)), reason)


@pytest.mark.parametrize(('path', 'deny', 'name', 'denied'), [
    ('', 'update', 'a', {'update'}), ('a', 'delete', 'a', {'replace', 'delete'}), ('a', 'replace', 'a', {'replace'}),
    ('b', 'delete', 'a', set()), ('a/inner', 'delete', 'a', {'replace', 'delete'}), ('a/inner', 'update', 'a', set()),
    ('a/inner', 'replace', 'a', {'replace'}), ('*/inner', 'delete', 'c', set()), ('a/gone', 'delete', 'a', set()),
])
def test_what_is_denied_in_the_root(path, deny, name, denied):
    found = guard((), [protection(path, deny)], [('a', 'inner')])
    assert {str(action) for action in Denial if found.blocks(name, action)} == denied


def test_everything_inside_is_denied_too():
    found = guard(('group', '0'), [protection('group', 'update', reason='ours')], [])
    assert found.refusal('server', Denial.UPDATE) == (
        'Protected: resources.server: group/0/server: update is denied by the protection of group (ours); '
        'nothing was done to it')
    assert found.refusal('server', Denial.DELETE) == ''


def test_protections_and_plans_hold_both():
    held = Permissions({'a': frozenset({Action.DELETE})}, guard=guard((), [protection('a', 'delete')], []))
    assert held.refusal('a', Action.DELETE).startswith('Protected: ')
    assert held.refusal('a', Action.UPDATE).startswith('NotPlanned: ')
    assert held.when_rolled_back().refusal('a', Action.DELETE).startswith('Protected: ')
    assert EVERYTHING.refusal('a', Action.DELETE) == '' and EVERYTHING.guard is UNGUARDED


def test_a_protection_is_stored_and_read():
    stored = protection('group/*', 'update', 'delete', reason='r')
    assert Protection.from_json(stored.to_json()) == stored
