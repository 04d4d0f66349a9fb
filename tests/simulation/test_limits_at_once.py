"""Requests that arrive at once do not exceed a limit of their project together."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster

EMPTY = {'heat_template_version': '2018-08-31', 'resources': {}}
REQUESTS = {
    'max_stacks_per_tenant': lambda number: messages.CreateStack(
        stack_name=f's{number}', template=EMPTY, environment={}),
    'max_software_configs_per_tenant': lambda number: messages.CreateSoftwareConfig(
        name=f'c{number}', group='', config='', inputs=(), outputs=(), options={}),
    'plans.max_plans_per_project': lambda number: messages.CreatePlan(
        action=messages.CREATE, stack_name=f's{number}', template=EMPTY, environment={}),
}


@pytest.mark.parametrize('option', REQUESTS)
def test_as_many_are_accepted_as_the_project_may_have(option):
    with Cluster(engines=2, **{option: 2}) as cluster:
        answers = []

        def ask(service, number):
            try:
                answers.append(service.endpoint.handle(cluster.context, REQUESTS[option](number)))
            except exception.RequestLimitExceeded as error:
                answers.append(error)

        for number in range(6):
            runtime, service = cluster.engines[number % 2]
            runtime.spawn(ask, service, number)
        assert cluster.universe.run(lambda: len(answers) == 6, limit=60)
        assert sum(isinstance(each, dict) for each in answers) == 2, answers
