"""Plans of changes of single properties: all types in the cloud HEATLITE_TEST_CLOUD names; when it names none, some in
the simulator."""

from __future__ import annotations

import os

import pytest

from heatlite.engine.types import registry
from tests.cloud import changes, plans, plans_page
from tests.cloud.planned import AGREED, DIFFERS

# In each run of CI.
FEW = ('OS::Cinder::QoSSpecs', 'OS::Keystone::Project', 'OS::Neutron::QoSPolicy', 'OS::Nova::KeyPair')


def names() -> list[str]:
    if 'HEATLITE_TEST_CLOUD' not in os.environ:
        return list(FEW)
    registry.create()
    try:
        return list(changes.subjects())
    finally:
        registry.use(None)


@pytest.mark.parametrize('name', [pytest.param(name, marks=pytest.mark.most_used if name in FEW else ())
                                  for name in names()])
def test_the_plan_of_each_property_is_what_is_done(outcomes, name):
    found = outcomes[name].result()
    assert [each for each in found if each.verdict == DIFFERS] == []
    tried = {each.name for each in found if each.verdict == AGREED}
    known = {each.name for each in plans.recorded().get(name, ()) if each.verdict == AGREED}
    assert name not in FEW or known <= tried, f'not tried any more: {known - tried}'


def test_the_page_is_current():
    assert plans_page.FILE.read_text() == plans_page.text(), 'python -m tests.cloud.plans_page writes it anew'
