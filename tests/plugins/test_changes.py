"""Each updatable property of our own types, changed alone: the first half of the types, and what is not tried.

A file is run by one process, so that two files share the work (`test_changes_more`).
"""

from __future__ import annotations

import pytest

from heatlite.engine.types import registry
from heatlite.testing import changes, crash, report
from tests.plugins import changing
from tests.plugins.own_types import own_types

registry.create()
NAMES = changing.changing(own_types().types)
registry.use(None)


def check(kit, name):
    """All changes of a type pass, and those that are not tried are listed with their reason."""
    found, cloud_of = kit
    listed = changing.untried().get(name, {})
    trial = changing.trial(found, cloud_of, name)
    if trial is None:
        assert list(listed) == ['*']
        return
    results = list(trial.run())
    trial.finish()
    assert [str(each) for each in results if each.outcome in (report.FAILED, report.WARNED)] == []
    alone = [each.reason.partition(': ') for each in results
             if each.check == changes.EACH and each.outcome == report.NOT_TRIED]
    assert {name: reason for name, _colon, reason in alone} == listed
    if changing.CRASH is None or crash.every(changing.CRASH):
        assert bool(trial.kills) == bool(trial.points)


@pytest.mark.parametrize('name', NAMES[::2])
def test_each_property_changes(kit, name):
    check(kit, name)


def test_the_list_names_types_that_are_there():
    assert set(changing.untried()) <= set(NAMES)
