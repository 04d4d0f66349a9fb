"""Every route that changes something is in the audit trail under a name of its own; reads are not."""

import pytest

from heatlite.api import audit_calls, routes
from heatlite.api.cfn.application import ACTIONS as CFN
from heatlite.api.cloudwatch.application import ACTIONS as CLOUDWATCH

READS = {'/{tenant_id}/validate', '/{tenant_id}/stacks/preview', '/{tenant_id}/templates/generate'}
STACK = '/{tenant_id}/stacks/{stack_name}/{stack_id}'


@pytest.mark.parametrize('method, route, action, target', [
    ('POST', '/{tenant_id}/stacks', 'create', 'stacks'),
    ('PUT', STACK, 'update', 'stacks'),
    ('DELETE', STACK, 'delete', 'stacks'),
    ('DELETE', f'{STACK}/force', 'delete/force', 'stacks'),
    ('POST', f'{STACK}/resources/{{resource_name}}/signal', 'update/signal', 'stacks/resources'),
    ('POST', f'{STACK}/snapshots', 'create', 'stacks/snapshots'),
    ('POST', f'{STACK}/snapshots/{{snapshot_id}}/restore', 'update/restore', 'stacks/snapshots'),
    ('POST', '/{tenant_id}/plans/{plan_id}/apply', 'update/apply', 'plans'),
    ('POST', '/{tenant_id}/stack_sets/{stack_set}/stop', 'update/stop', 'stack_sets'),
    ('PUT', '/waitcondition', 'update/waitcondition', ''),
    ('GET', 'CreateStack', 'create', 'stacks'),
    ('GET', 'CancelUpdateStack', 'update/cancel', 'stacks'),
    ('POST', 'DeleteAlarms', 'delete', 'alarms')])
def test_names(method, route, action, target):
    assert audit_calls.of(method, route) == (action, f'service/orchestration/{target}'.rstrip('/'))


def test_all_routes_that_change_something_are_recorded():
    unrecorded = {route.path for route in routes.TABLE
                  if route.method not in ('GET', 'HEAD') and audit_calls.of(route.method, route.path) is None}
    assert {path for path in unrecorded if not path.endswith('/preview')} == READS - {'/{tenant_id}/stacks/preview'}
    assert not [route for route in routes.TABLE if route.method == 'GET' and audit_calls.of('GET', route.path)]


def test_actions_that_only_read_are_not_recorded():
    names = [*CFN, *CLOUDWATCH]
    assert {name for name in names if audit_calls.of('POST', name) is None} == {
        name for name in names if name.startswith(('Describe', 'List', 'Get', 'Validate', 'Estimate', 'PutMetricData'))}
