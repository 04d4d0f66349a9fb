"""Groups whose members have no numbers: what planning their batches costs."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import pytest

from heatlite.common import turns
from heatlite.engine.resources.scaled import ScaledGroup


class HashedName(str):
    """A name that counts how often it is hashed."""

    hashed = 0

    def __hash__(self):
        HashedName.hashed += 1
        return str.__hash__(self)


class Rolling(ScaledGroup):
    """A group with a rolling update of its members, without a stack."""

    name, resource_id = 'group', 'nested'

    def __init__(self, number, batch):
        self.known = {HashedName(f'm{place:04}'): {'type': 'A::B', 'properties': {'value': 'old'}}
                      for place in range(number)}
        self.batch = batch

    def member_rows(self):
        return [SimpleNamespace(id=number, name=name, action='CREATE', status='COMPLETE',
                                created_at=datetime(2026, 1, 1), replaced_by=None)
                for number, name in enumerate(self.known)]

    def current_members(self):
        return self.known

    def member_definition(self):
        return {'type': 'A::B', 'properties': {'value': 'new'}}

    def check_size(self, count):
        pass

    def assembled(self, found):
        return found

    def _goal(self, prop_diff):
        return len(self.known), (self.batch, 0, 0.0)


@pytest.fixture
def taken():
    found = []
    turns.use(lambda *_owners: found.append(True))
    yield found
    turns.use(None)


def test_members_are_ordered_with_few_looks_at_each(taken):
    group = Rolling(1000, 1)
    HashedName.hashed = 0
    assert list(group.ordered_members()) == list(group.known)
    assert HashedName.hashed <= 20 * len(group.known)
    assert len(taken) >= 9


def test_each_batch_of_a_preview_has_few_looks_at_each_member_and_turns(taken):
    group, batches = Rolling(200, 20), 10
    HashedName.hashed = 0
    assert group.preview_template({}) == dict.fromkeys(group.known, group.member_definition())
    assert HashedName.hashed <= 20 * batches * len(group.known)
    assert len(taken) >= 2 * batches
