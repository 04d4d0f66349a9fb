"""`python -m tests.hostile --profile embedded [--only WORDS]`: the table of all cases; `--fuzz MINUTES [--seed N]`:
templates grown from the grammar instead."""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.hostile import grammar
from tests.hostile.campaign import STAGES, Campaign, Row, attack, summary, table
from tests.hostile.cases import CASES, Case
from tests.hostile.meters import Seen
from tests.hostile.peers import PEERS, Peer
from tests.hostile.profiles import PROFILES

ADDRESSES = 4 * 2 ** 30


def grown(first: int, count: int | None, until: float) -> Iterator[Case]:
    for seed in itertools.count(first):
        if seed - first >= count if count is not None else time.monotonic() >= until:
            return
        yield grammar.case(seed)


def performed(campaign: Campaign, work: Case | Peer, stages: frozenset[str]) -> list[Row]:
    if isinstance(work, Case):
        return campaign.run([work], stages)
    if work.api not in campaign.target.ports:
        return []
    return [attack(campaign, work)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--profile', choices=sorted(PROFILES), default='embedded')
    parser.add_argument('--only', default='', help='part of the names of cases')
    parser.add_argument('--quick', action='store_true', help='the selection of every test run')
    parser.add_argument('--stages', default=','.join(sorted(STAGES)))
    parser.add_argument('--fuzz', type=float, default=0.0, help='minutes of templates grown from the grammar')
    parser.add_argument('--seed', type=int, default=0, help='the first of them')
    parser.add_argument('--count', type=int, help='how many of them, instead of minutes')
    chosen = parser.parse_args()
    work: Iterator[Case | Peer] = (each for each in (*CASES, *PEERS)
                                   if chosen.only in each.name and (each.quick or not chosen.quick))
    if chosen.fuzz or chosen.count:
        work = grown(chosen.seed, chosen.count, time.monotonic() + chosen.fuzz * 60)
    waiting = next(work, None)
    rows: list[Row] = []
    seen: list[Seen] = []
    while waiting:
        with tempfile.TemporaryDirectory() as folder, PROFILES[chosen.profile](Path(folder)) as target:
            target.bound(ADDRESSES)
            with Campaign(target) as campaign:
                print(f'idle: neighbour p99 {campaign.idle() * 1000:.0f} ms\n{table([])}', flush=True)
                while waiting:                      # after a case that wedges the services, others are started
                    found = performed(campaign, waiting, frozenset(chosen.stages.split(',')))
                    waiting = next(work, None)
                    print('\n'.join(table(found).splitlines()[1:]), flush=True)
                    if any(row.diagnostics for row in found) and campaign.is_wedged:
                        break
        rows += campaign.rows
        seen += campaign.seen
    print(summary(rows, seen))
    return int(any(row.diagnostics for row in rows))


if __name__ == '__main__':
    sys.exit(main())
