"""Keystone answers slowly, since the users of a project ask for more stacks than it can make trusts for."""

from collections import Counter
from datetime import timedelta

import pytest

from heatlite.common import runtime
from heatlite.engine.clients.os.keystone.heat_keystoneclient import KeystoneClient
from heatlite.rpc import messages, server
from heatlite.rpc.slots import Slots
from tests.simulation.cluster import done
from tests.simulation.test_owners import Cluster, keystone, user

__all__ = ['keystone']
PATIENCE = 10.0                 # seconds that a caller waits for an answer
THREADS = 1024
SECONDS = 200


def template(value):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::Acting', 'properties': {'value': value}}}}


@pytest.fixture
def cluster():
    with Cluster(engines=1) as made:
        yield made


class Callers:
    """Send requests to the engine as its threads take them from the broker."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.runtime, self.service = cluster.engines[0]
        self.slots = Slots(self.runtime, THREADS)
        self.answers = Counter()                # (message, name of the error or None) -> answers in time

    def send(self, message):
        until = self.runtime.now() + timedelta(seconds=PATIENCE)
        context = {**user('ann').to_dict(), messages.DEADLINE: until.isoformat()}
        found = server.answer(self.service.endpoint, context, message.method(), message.arguments(), slots=self.slots)
        if self.runtime.now() <= until:
            self.answers[message.method(), found.get('error', {}).get('name')] += 1

    def repeat(self, make):
        """Send one after the other, for ever: after an answer or a time-out."""
        number = 0
        while True:
            number += 1
            self.runtime.spawn(self.send, make(number))
            self.runtime.sleep(PATIENCE)


def test_an_engine_accepts_what_keystone_can_serve_and_all_that_needs_no_trust(cluster, keystone, monkeypatch):
    """Forty callers, and one trust in two seconds. Without a limit each trust would take 80 s, and none was in time."""
    made = cluster.create('here', template('a'))
    done(cluster, made, 'CREATE')
    callers = Callers(cluster)
    monkeypatch.setattr(runtime, '_current', callers.runtime)
    is_free_at = [0.0]

    def slowly(client):
        now = callers.runtime.monotonic()
        is_free_at[0] = max(is_free_at[0], now) + 2.0
        callers.runtime.sleep(is_free_at[0] - now)
        return keystone.create(client)
    monkeypatch.setattr(KeystoneClient, 'create_trust_context', slowly)
    for caller in range(40):
        callers.runtime.spawn(callers.repeat, lambda number, caller=caller: messages.CreateStack(
            stack_name=f's{caller}-{number}', template=template('a')))
    callers.runtime.spawn(callers.repeat, lambda number: messages.UpdateStack(
        stack_id=made, template=template(f'v{number}')))
    begin = callers.runtime.monotonic()
    assert cluster.universe.run(lambda: callers.runtime.monotonic() >= begin + SECONDS)
    assert callers.answers['create_stack', None] > 0.5 * SECONDS / 2
    assert callers.answers['update_stack', None] > 0.9 * SECONDS / PATIENCE
