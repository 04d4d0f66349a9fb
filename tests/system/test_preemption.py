"""The story of Heat's test_nested_preemption, on the production profile, whichever engine drives what."""

import json

import pytest

from tests.system import production
from tests.system.processes import eventually

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

LONG = 6000


def template(resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def files(value):
    """`value` None: nothing is inside the outer nested stack any more."""
    delay = {'delay_resource': {'type': 'OS::Heat::TestResource', 'properties': {
        'value': value, 'action_wait_secs': {'update': LONG}}}}
    if value is None:
        return {'preempt.yaml': json.dumps(template({}))}
    return {'preempt.yaml': json.dumps(template({'delay_stack': {'type': 'delay.yaml'}})),
            'delay.yaml': json.dumps(template(delay))}


@pytest.mark.service
def test_a_newer_update_preempts_nested_ones(tmp_path):
    root = template({'nested_stack': {'type': 'preempt.yaml'}})
    with production.Production(tmp_path) as cloud:
        member = cloud.people['alpha']
        path = cloud.create(member, 'root', root, files=files('1'))
        assert cloud.finished(member, path) == 'CREATE_COMPLETE'

        assert cloud.ask(member, 'PUT', path, {'template': root, 'files': files('2')}).status == 202
        eventually('the long update', lambda: cloud.rows(
            "SELECT 1 FROM resource WHERE name = 'delay_resource' AND action = 'UPDATE' AND status = 'IN_PROGRESS'"))
        assert cloud.ask(member, 'PUT', path, {'template': root, 'files': files(None)}).status == 202
        assert cloud.finished(member, path) == 'UPDATE_COMPLETE'
        left = cloud.rows('SELECT depth FROM stack WHERE deleted_at IS NULL ORDER BY depth')
        assert [depth for depth, in left] == [0, 1]
