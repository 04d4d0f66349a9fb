"""As `tests.simulation.planned`, on the production profile: over the API, with two engines."""

from __future__ import annotations

import random

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
        answer = cloud.ask(person, 'POST', f"/plans/{plan['id']}/apply", {'digest': plan['digest']})
        assert answer.status == 202, answer.text
        stack_id = answer.json['stack']['id']
        path = f'/stacks/p{seed}/{stack_id}'
        status = cloud.finished(person, path)
        reason = cloud.ask(person, 'GET', path).json['stack']['stack_status_reason']
        assert 'NotPlanned' not in reason, f'seed {seed}, action {number}: {reason}'
        after = Tree(cloud.rows, stack_id)
        if not status.endswith('COMPLETE'):
            break
        compared += check(plan, before, after)
        wanted, before = grown.next(wanted), after
    if path:
        plan = cloud.ask(person, 'POST', f'{path}/plans', {'action': 'delete'}).json['plan']
        assert cloud.ask(person, 'POST', f"/plans/{plan['id']}/apply").status == 202
    return compared
