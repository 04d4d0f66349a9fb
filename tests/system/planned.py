"""As `tests.simulation.planned`, on the production profile: over the API, with two engines."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.simulation.foretold import Grown, Tree
from tests.simulation.planned import check
from tests.system.production import Person, Production


def live(cloud: Production, person: Person, seed: int, updates: int = 3) -> int:
    """One stack by plans from its create to its delete. Returns how many known changes were compared."""
    rng = random.Random(seed)
    grown = Grown(rng, thing='OS::Heat::TestResource', fixed='update_replace_value')
    wanted, path, before, compared = grown.update(), '', None, 0
    for number in range(updates + 1):
        body = wanted if path else {**wanted, 'stack_name': f'p{seed}'}
        made = cloud.ask(person, 'POST', f'{path}/plans', body)
        if made.status != 201:
            assert made.status < 500, made.text
            break
        plan = made.json['plan']
        path, status = apply(cloud, person, plan, f'seed {seed}, action {number}')
        after = Tree(cloud.rows, path.rpartition('/')[2])
        if not status.endswith('COMPLETE'):
            break
        compared += check(plan, before, after)
        wanted, before = grown.next(wanted), after
    if path and seed % 2 == 0:
        compared += go_back(cloud, person, path, f'seed {seed}')
    if path:
        plan = cloud.ask(person, 'POST', f'{path}/plans', {'action': 'delete'}).json['plan']
        assert cloud.ask(person, 'POST', f"/plans/{plan['id']}/apply").status == 202
    return compared


def apply(cloud: Production, person: Person, plan: Mapping[str, Any], where: str) -> tuple[str, str]:
    """The path of the stack, and its status afterwards."""
    answer = cloud.ask(person, 'POST', f"/plans/{plan['id']}/apply", {'digest': plan['digest']})
    assert answer.status == 202, answer.text
    path = f"/stacks/{plan['stack_name']}/{answer.json['stack']['id']}"
    status = cloud.finished(person, path)
    reason = cloud.ask(person, 'GET', path).json['stack']['stack_status_reason']
    assert 'NotPlanned' not in reason, f'{where}: {reason}'
    return path, status


def go_back(cloud: Production, person: Person, path: str, where: str) -> int:
    """Go back to the first revision. Returns how many known changes were compared."""
    known = cloud.ask(person, 'GET', f'{path}/revisions').json['revisions']
    assert [each['number'] for each in known] == list(range(len(known), 0, -1))
    assert all(each['outcome'] == 'COMPLETE' for each in known[1:])
    before = Tree(cloud.rows, path.rpartition('/')[2])
    made = cloud.ask(person, 'POST', f'{path}/plans', {'revision': 1})
    assert made.status == 201, made.text
    _path, status = apply(cloud, person, made.json['plan'], where)
    assert status == 'UPDATE_COMPLETE', where
    last = cloud.ask(person, 'GET', f'{path}/revisions?limit=1').json['revisions'][0]
    assert (last['number'], last['outcome'], last['plan_id']) == (
        len(known) + 1, 'COMPLETE', made.json['plan']['id'])
    assert last['digest'] == known[-1]['digest']
    difference = cloud.ask(person, 'GET', f"{path}/revisions/{last['number']}/diff?with=1").json['diff']
    assert difference['is_empty'], difference
    return check(made.json['plan'], before, Tree(cloud.rows, path.rpartition('/')[2]))
