"""Kills engines of two regions while stack sets go from wave to wave, and checks what became of the members.

`python -m tests.system.set_kills [--sets N] [--kills K] [--seed S]`: N sets are created, updated and deleted, with
up to K kills in each action. Needs what `TwoRegions` needs.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.system.processes import Program, eventually
from tests.system.production import Production
from tests.system.regions import ONE, TWO, TwoRegions

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  label: {type: string}
  fails: {type: boolean, default: false}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1, name: {get_param: label}}}
  may_fail: {type: OS::Heat::TestResource, depends_on: [net, disk], properties: {
    value: {get_param: label}, fail: {get_param: fails}}}
"""
TABLES = ('network.networks', 'volume.volumes')
LOGINS = 2                              # beside the right of the set's own user
CONCURRENT = 2
WORK = 0.7                              # seconds that a volume needs
FAILING = 'login-0-RegionTwo'           # in the create
Interval = tuple[datetime, datetime]


@contextmanager
def started(folder: Path) -> Iterator[Killed]:
    with TwoRegions(folder, engines=3, action_retry_limit=0, rpc_response_timeout=10, clients__timeout=15,
                    template_fetch_allow='127.0.0.1') as regions:
        for region in (ONE, TWO):
            regions.cloud(region, 'PUT', 'settings', {'work': WORK})
        yield Killed(regions)


class Killed:
    """Lives of sets, with kills. `kills`: how many there were; `between`: of these, just after a wave has ended."""

    def __init__(self, regions: TwoRegions) -> None:
        self.regions = regions
        self.kills = self.between = 0
        self._secrets = [regions.secret({'auth_type': 'v3password', 'auth': {
            'auth_url': regions.demo.auth_url, 'username': 'demo', 'password': 'secret', 'user_domain_id': 'default',
            'project_name': 'demo', 'project_domain_id': 'default'}}) for _ in range(LOGINS)]

    def live(self, name: str, chance: random.Random, kills: int) -> None:
        """One set. `kills`: at most so many in each of create, update and delete. Raises AssertionError."""
        regions, members = self.regions, self._members()
        before, since = self._made(), self._events()
        regions.sets('POST', '', {
            'name': name, 'template': TEMPLATE, 'members': members, 'max_concurrent': CONCURRENT,
            'failure_tolerance': 1, 'parameters': {'label': name}, 'overrides': {FAILING: {'fails': True}}}, 201)
        found = self._killing(name, chance, kills)
        assert found['status'] == 'CREATE_COMPLETE', found
        assert regions.states(name) == {each['name']: 'failed' if each['name'] == FAILING else 'current'
                                        for each in members}
        stacks = {each['name']: each for each in regions.sets('GET', f'/{name}/members')['members']}
        self._check_made(name, before)
        self._check_waves(stacks, 'CREATE', since, backwards=False)

        since = self._events()
        regions.sets('PATCH', f'/{name}', {'parameters': {'label': f'{name}-new'}, 'overrides': {},
                                           'failure_tolerance': 0}, 202)
        found = self._killing(name, chance, kills)
        assert (found['status'], found['members']) == ('UPDATE_COMPLETE', {'current': len(members)}), found
        after = {each['name']: each['stack_id'] for each in regions.sets('GET', f'/{name}/members')['members']}
        assert after == {key: each['stack_id'] for key, each in stacks.items()}, 'a member was replaced'
        self._check_made(f'{name}-new', before)
        self._check_waves(stacks, 'UPDATE', since, backwards=False)

        since = self._events()
        regions.sets('DELETE', f'/{name}', status=204)
        self._killing(name, chance, kills)
        regions.gone(name)
        for region in (ONE, TWO):
            for table in TABLES:
                assert not self._named(region, table, f'{name}-new'), f'left in {region}'
        self._check_waves(stacks, 'DELETE', since, backwards=True)

    def _members(self) -> list[dict[str, str]]:
        return [{'name': f'{login}-{region}', 'region_name': region,
                 **({'credential_secret_id': secret} if secret else {})}
                for login, secret in [('own', ''), *((f'login-{at}', each) for at, each in enumerate(self._secrets))]
                for region in (ONE, TWO)]

    # --- kills --------------------------------------------------------------------------------------------

    def _killing(self, name: str, chance: random.Random, kills: int) -> Any:
        """Kills engines until the operation has ended or there were `kills`; the set, or None if it is gone."""
        for _ in range(kills):
            between = chance.random() < 0.5
            reached = self._wave_ends(name) if between else _elapsed(chance.uniform(0.0, 6 * WORK))
            while self._in_progress(name) and not reached():
                time.sleep(0.05)
            if not self._in_progress(name):
                break
            where = self.regions.where[TWO if chance.random() < 0.3 else ONE]
            self._kill(where, self._owner(name) if where is self.regions.where[ONE] else None, chance)
            self.kills, self.between = self.kills + 1, self.between + between
        eventually('the end of the operation', lambda: not self._in_progress(name))
        answer = self.regions.where[ONE].ask(self.regions.demo, 'GET', f'/stack_sets/{name}')
        return None if answer.status == 404 else answer.json['stack_set']

    def _status(self, name: str) -> str | None:
        answer = self.regions.where[ONE].ask(self.regions.demo, 'GET', f'/stack_sets/{name}')
        return None if answer.status == 404 else str(answer.json['stack_set']['status'])

    def _in_progress(self, name: str) -> bool:
        return (self._status(name) or '').endswith('IN_PROGRESS')

    def _wave_ends(self, name: str) -> Callable[[], bool]:
        """Whether, since now, members have ended and none is under way."""
        def ended() -> tuple[int, int]:
            rows = self.regions.where[ONE].rows(
                'SELECT r.status FROM resource r JOIN stack s ON s.id = r.stack_id '
                f"WHERE s.name LIKE '{name}-set-%%' AND r.type = 'OS::Heat::Stack' AND r.action != 'INIT'")
            return len([each for each, in rows if each != 'IN_PROGRESS']), len(rows)

        before = ended()[0]
        return lambda: ended()[0] != before

    def _owner(self, name: str) -> str | None:
        """Id of the engine that drives the stack of the members."""
        rows = self.regions.where[ONE].rows(
            f"SELECT l.engine_id FROM lease l JOIN stack s ON s.id = l.stack_id WHERE s.name LIKE '{name}-set-%%'")
        return rows[0][0] if rows else None

    @staticmethod
    def _kill(where: Production, engine_id: str | None, chance: random.Random) -> None:
        """Kills the engine with this id, or any, and starts another one."""
        engines: list[Program] = where.engines
        eventually('two engines that serve', lambda: len(
            [each for each in engines if 'takes requests' in each.log.read_text()]) >= 2)
        chosen = next((each for each in engines if engine_id and engine_id in each.log.read_text()), None)
        victim = chosen or chance.choice(engines)
        victim.kill()
        engines.remove(victim)
        where.start_engine()

    # --- checks -------------------------------------------------------------------------------------------

    def _made(self) -> Mapping[tuple[str, str], int]:
        return {(region, table): self.regions.objects(region, table)['made'] for region in (ONE, TWO)
                for table in TABLES}

    def _named(self, region: str, table: str, label: str) -> list[Any]:
        return [each for each in self.regions.objects(region, table)['objects'] if each['name'] == label]

    def _check_made(self, label: str, before: Mapping[tuple[str, str], int]) -> None:
        """Each region has the objects of its members, and there were never others."""
        share = LOGINS + 1
        for (region, table), made in self._made().items():
            assert len(self._named(region, table, label)) == share, (region, table)
            assert made - before[region, table] == share, f'{table} made twice in {region}'

    def _events(self) -> Mapping[str, int]:
        """Number of the last event of each region."""
        return {region: where.rows('SELECT MAX(id) FROM event')[0][0] or 0
                for region, where in self.regions.where.items()}

    def _check_waves(self, stacks: Mapping[str, Mapping[str, Any]], action: str, since: Mapping[str, int],
                     backwards: bool) -> None:
        """By the events of the members' own stacks: no wave began before the one before it had ended.

        `since`: the last events before the operation. A create that is taken over updates its failed member."""
        waves: dict[int, list[Interval]] = {}
        for each in stacks.values():
            rows = self.regions.where[each['region_name']].rows(
                'SELECT e.status, e.created_at FROM event e JOIN stack s ON s.id = e.stack_id WHERE '
                f"s.id = '{each['stack_id']}' AND e.resource_name = s.name AND e.action = '{action}' "
                f"AND e.id > {since[each['region_name']]} ORDER BY e.id")
            assert rows and rows[0][0] == 'IN_PROGRESS' and rows[-1][0] != 'IN_PROGRESS', (each['name'], rows)
            waves.setdefault(each['wave'], []).append((rows[0][1], rows[-1][1]))
        assert all(len(each) <= CONCURRENT for each in waves.values())
        order = sorted(waves, reverse=backwards)
        for first, then in itertools.pairwise(order):
            assert max(end for _, end in waves[first]) <= min(begin for begin, _ in waves[then]), (action, waves)


def _elapsed(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.system.set_kills')
    parser.add_argument('--sets', type=int, default=10)
    parser.add_argument('--kills', type=int, default=3, help='at most, in each create, update and delete')
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parser.add_argument('--keep', type=Path, help='an empty folder for the logs')
    chosen = parser.parse_args()
    failed = 0
    with started(chosen.keep or Path(tempfile.mkdtemp())) as place:
        for number in range(chosen.sets):
            try:
                place.live(f'set{number}', random.Random(chosen.seed + number), chosen.kills)
            except AssertionError as error:
                failed += 1
                print(f'seed {chosen.seed + number}: {error}', flush=True)
            print(f'{number + 1} sets, {place.kills} kills ({place.between} between waves), {failed} failed',
                  flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
