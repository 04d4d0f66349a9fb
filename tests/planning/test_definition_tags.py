"""The tag of a definition: another one for whatever an update changes, and the same for all else."""

from dataclasses import dataclass, replace

import pytest

from heatlite.planning import definition_tags


@dataclass(frozen=True)
class Row:
    template_id: str = 't1'
    timeout_mins: int | None = 7
    disable_rollback: bool | int = True
    tags: object = ('a', 'b')
    status: str = 'IN_PROGRESS'


@pytest.mark.parametrize('change', [
    {'template_id': 't2'}, {'timeout_mins': 8}, {'timeout_mins': None}, {'disable_rollback': False},
    {'tags': ('a',)}, {'tags': None}, {'tags': ('b', 'a')}, {'tags': ('a,b',)}, {'tags': ('ä', 'b')}])
def test_what_an_update_changes_changes_the_tag(change):
    assert definition_tags.of(replace(Row(), **change)) != definition_tags.of(Row())


@pytest.mark.parametrize('one, same', [
    ({}, {'status': 'COMPLETE'}), ({}, {'tags': ['a', 'b']}), ({'tags': None}, {'tags': ()}),
    ({}, {'disable_rollback': 1}), ({'timeout_mins': None}, {'timeout_mins': 0})])
def test_all_else_leaves_it(one, same):
    assert definition_tags.of(replace(Row(), **one)) == definition_tags.of(replace(Row(), **same))


def test_it_may_stand_between_quotation_marks():
    tag = definition_tags.of(Row(tags=('"', 'ü')))
    assert len(tag) == definition_tags.LENGTH and set(tag) <= set('0123456789abcdef')
