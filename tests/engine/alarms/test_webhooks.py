"""Requests that follow from alarms: a project with slow receivers does not hold up another one."""

from __future__ import annotations

from typing import Any, cast

from heatlite.common import turns
from heatlite.common.green_threads import GreenRuntime
from heatlite.db.alarms import Webhook
from heatlite.db.connection import Database
from heatlite.db.leases import Lease
from heatlite.engine.alarms import webhooks
from heatlite.engine.alarms.webhooks import OF_PROJECT, Webhooks


class Outcomes:
    """The part of a database that is used: nothing is stored."""

    def retry_until_available(self, work: Any) -> None:
        pass


def request(number: int, project_id: str) -> Webhook:
    return Webhook(number, f'a{number}', project_id, 'n', f'https://h/{number}', {}, 0)


def test_a_project_with_slow_receivers_leaves_room_for_others() -> None:
    runtime = GreenRuntime()
    answered, posted = runtime.flag(), []

    def post(url: str, body: bytes) -> int:
        posted.append(url)
        answered.wait()
        return 200

    def run_until(number: int) -> None:
        while len(posted) < number:
            runtime.sleep(0)

    lease = Lease('shard', 'e1', 1)
    sender = Webhooks(runtime, cast('Database', Outcomes()), post, lambda lease: None)
    sender.send(lease, [request(number, 'slow') for number in range(webhooks.BATCH)])
    assert sender.busy() == ['slow']
    run_until(webhooks.AT_ONCE // 2)        # the share of one project
    sender.send(lease, [request(1000, 'other')])
    assert sender.busy() == ['slow']
    answered.set()                          # as soon as a place is free, the projects take turns
    run_until(OF_PROJECT + 1)
    assert posted.index('https://h/1000') <= webhooks.AT_ONCE // 2
    assert len(posted) == OF_PROJECT + 1
    runtime.sleep(0)
    assert sender.busy() == []


def test_a_request_is_work_of_its_project() -> None:
    """Which has a share of the threads that look up names of hosts."""
    runtime, owners = GreenRuntime(), []

    def post(url: str, body: bytes) -> int:
        owners.append(turns.owners()[0])
        return 200

    turns.use(lambda *_owners: None)
    try:
        sender = Webhooks(runtime, cast('Database', Outcomes()), post, lambda lease: None)
        sender.send(Lease('shard', 'e1', 1), [request(number, f'p{number}') for number in range(3)])
        while len(owners) < 3:
            runtime.sleep(0)
    finally:
        turns.use(None)
    assert sorted(owners) == ['p0', 'p1', 'p2']
