"""New stacks that are committed together: the answer to each says whether another engine may be asked for it."""

import pytest

from heatlite.db import stacks
from heatlite.rpc import server
from heatlite.testing.storage import Outage
from tests.simulation.cluster import PROJECT, Cluster

NAMES = 'abcdefgh'
MOST_COMMITS = 9                    # until the new stacks are stored
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {'it': {'type': 'OS::Heat::None'}}}


@pytest.mark.parametrize('label, may_be_sent_elsewhere', [('before a commit', True), ('after a commit', False)])
def test_a_stack_that_may_be_stored_is_not_created_by_another_engine(label, may_be_sent_elsewhere):
    """It would be refused there, because its name is taken: by itself."""
    for commit in range(1, MOST_COMMITS):
        refused, stored = answers_without_database(label, commit)
        assert [each.get('elsewhere', False) for each in refused.values()] == [may_be_sent_elsewhere] * len(refused)
        assert stored == set(NAMES) - (refused.keys() if may_be_sent_elsewhere else set())
        if len(refused) > 1:
            return
    pytest.fail('no two of them were committed together')


def answers_without_database(label, commit):
    """The answers with an error, by name of the stack, and the names of the stacks that are stored, if the database is
    away at this point of a commit (from 1)."""
    with Cluster(1, engines=1) as cluster:
        runtime, service = cluster.engines[0]
        answers, left = {}, [commit]

        def lose(visited, _runtime):
            left[0] -= visited == label
            if visited == label and not left[0]:
                raise Outage(reason='it went away')

        def ask(name):
            answers[name] = server.answer(service.endpoint, cluster.context.to_dict(), 'create_stack',
                                          {'stack_name': name, 'template': TEMPLATE})

        cluster.chaos.on_visit, cluster.chaos.enabled = lose, True
        for name in NAMES:
            runtime.spawn(ask, name)
        assert cluster.universe.run(lambda: len(answers) == len(NAMES))
        with cluster.database.reader() as tx:
            stored = {name for name in NAMES if stacks.by_name(tx, PROJECT, name) is not None}
        return {name: answer for name, answer in answers.items() if 'error' in answer}, stored
