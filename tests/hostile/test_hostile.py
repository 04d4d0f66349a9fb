"""A selection of the hostile suite in every run: the harder cases at two stages, a minute of grown templates, peers.

Memory, status and the life of every process are held to the budgets; of the time to an answer only its CPU is, and the
neighbour's latency is not: other tests run on the same machine meanwhile. `python -m tests.hostile` measures both.
"""

from __future__ import annotations

import pytest

from tests.hostile import grammar
from tests.hostile.campaign import Campaign, attack
from tests.hostile.cases import CASES
from tests.hostile.peers import PEERS
from tests.hostile.profiles import PROFILES
from tests.system.production import REASON, is_possible

STAGES = frozenset({'preview', 'create'})
SEEDS = range(25)


@pytest.fixture(scope='module', params=[
    'embedded', pytest.param('production', marks=[
        pytest.mark.service, pytest.mark.skipif(not is_possible(), reason=REASON)])])
def campaign(request, tmp_path_factory):
    with (PROFILES[request.param](tmp_path_factory.mktemp('hostile')) as target,
          Campaign(target, strict=False) as found):
        yield found


def diagnostics(rows):
    return [f'{row.case}, {row.stage}: {diagnostic}' for row in rows for diagnostic in row.diagnostics]


@pytest.mark.parametrize('case', [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_a_case_costs_no_more_than_its_budget(campaign, case):
    rows = campaign.run([case], STAGES)
    assert {'preview', 'create'} <= {row.stage for row in rows}
    assert diagnostics(rows) == []


@pytest.mark.parametrize('seed', SEEDS)
def test_a_grown_template_costs_no_more_than_its_budget(campaign, seed):
    rows = campaign.run([grammar.case(seed)], STAGES)
    assert rows and diagnostics(rows) == []


@pytest.mark.parametrize('peer', [peer for peer in PEERS if peer.quick], ids=lambda peer: peer.name)
def test_a_peer_costs_no_more_than_its_budget(campaign, peer):
    if peer.api not in campaign.target.ports:
        pytest.skip(f'there is no API {peer.api} in this profile')
    assert diagnostics([attack(campaign, peer)]) == []
