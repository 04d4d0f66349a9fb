"""All URLs of the API in one table. Order matters: the first line that matches path and method is used.

`P` is the prefix of a project, `S` that of a stack. Columns: method, path, handler, policy rule, body, status of
success.
"""

from __future__ import annotations

from heatlite.api.handlers import (
    actions,
    constraints,
    drift,
    event_streams,
    events,
    explain,
    forced_deletes,
    guards,
    outputs,
    plans,
    progress,
    project_templates,
    refactors,
    resource_types,
    resources,
    revisions,
    services,
    snapshots,
    software_configs,
    software_deployments,
    stack_sets,
    stacks,
    template_versions,
    timeline,
    validate,
    versions,
)
from heatlite.api.wsgi import Body, Route

P = '/{tenant_id}'
S = P + '/stacks/{stack_name}/{stack_id}'
ARN = P + r'/stacks/{stack_name:[aA][rR][nN]\x3a.*}'            # a colon is not allowed in a pattern
NAME = P + '/stacks/{stack_name}'
PART = '/{path:resources|events|template|actions}'
READ_PART = '/{path:environment|files}'
R = S + '/resources/{resource_name}'
CONFIG = P + '/software_configs'
DEPLOYMENT = P + '/software_deployments'
TYPES = P + '/resource_types'
PLANS = P + '/plans'
SETS = P + '/stack_sets'
SET = SETS + '/{stack_set}'

NONE, OPTIONAL, REQUIRED = Body.NONE, Body.OPTIONAL, Body.REQUIRED


def _lookups(path: str, *methods: str) -> list[Route]:
    return [Route(method, path, stacks.lookup, 'stacks:lookup', OPTIONAL, 302) for method in methods]


TABLE: tuple[Route, ...] = (
    # An ARN contains slashes: it must come before all patterns that split at them.
    *_lookups(ARN, 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'),

    Route('GET', P, versions.show, 'stacks:index'),
    Route('POST', P + '/validate', validate.validate, 'stacks:validate_template', REQUIRED),
    Route('GET', TYPES, resource_types.index, 'stacks:list_resource_types'),
    Route('GET', TYPES + '/{type_name}', resource_types.show, 'stacks:resource_schema'),
    Route('GET', TYPES + '/{type_name}/template', resource_types.template, 'stacks:generate_template'),
    Route('GET', P + '/constraints/{constraint}/values', constraints.values, 'stacks:constraint_values'),
    Route('GET', P + '/template_versions', template_versions.index, 'stacks:list_template_versions'),
    Route('GET', P + '/template_versions/{version}/functions', template_versions.functions,
          'stacks:list_template_functions'),

    Route('GET', P + '/stacks', stacks.index, 'stacks:index'),
    Route('POST', P + '/stacks', stacks.create, 'stacks:create', REQUIRED, 201, own_project=True),
    Route('GET', P + '/stacks/detail', stacks.detail, 'stacks:detail'),
    Route('POST', P + '/stacks/preview', stacks.preview, 'stacks:preview', REQUIRED),
    *_lookups(NAME, 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    *_lookups(NAME + PART, 'GET', 'POST'),
    *_lookups(NAME + READ_PART, 'GET'),

    Route('GET', S, stacks.show, 'stacks:show'),
    Route('PUT', S, stacks.update, 'stacks:update', REQUIRED, 202),
    Route('PATCH', S, stacks.patch, stacks.patch_policy, REQUIRED, 202),
    Route('DELETE', S, stacks.delete, 'stacks:delete', NONE, 204),
    Route('GET', S + '/template', stacks.template, 'stacks:template'),
    Route('GET', S + '/environment', stacks.environment, 'stacks:environment'),
    Route('GET', S + '/files', stacks.files, 'stacks:files'),
    Route('PUT', S + '/preview', stacks.preview_update, 'stacks:preview_update', REQUIRED),
    Route('PATCH', S + '/preview', stacks.preview_patch, 'stacks:preview_update_patch', REQUIRED),
    Route('DELETE', S + '/force', forced_deletes.begin, 'stacks:force_delete', NONE, 202),
    Route('DELETE', S + '/release', forced_deletes.release, 'stacks:release', NONE, 202),
    Route('GET', S + '/left', forced_deletes.show, 'stacks:show_left'),
    Route('DELETE', S + '/abandon', stacks.abandon, 'stacks:abandon'),
    Route('GET', S + '/export', stacks.export, 'stacks:export'),

    Route('POST', P + '/templates/generate', project_templates.generate, 'stacks:generate_from_project', OPTIONAL),

    Route('POST', P + '/refactors', refactors.refactor, 'stacks:refactor', REQUIRED, own_project=True),
    Route('POST', P + '/refactors/preview', refactors.preview, 'stacks:preview_refactor', REQUIRED, own_project=True),

    Route('GET', SETS, stack_sets.index, 'stack_sets:index'),
    Route('POST', SETS, stack_sets.create, 'stack_sets:create', REQUIRED, 201, own_project=True),
    Route('POST', SETS + '/preview', stack_sets.preview_new, 'stack_sets:preview', REQUIRED, own_project=True),
    Route('GET', SET, stack_sets.show, 'stack_sets:show'),
    Route('PATCH', SET, stack_sets.update, 'stack_sets:update', REQUIRED, 202),
    Route('DELETE', SET, stack_sets.delete, 'stack_sets:delete', NONE, 204),
    Route('POST', SET + '/preview', stack_sets.preview, 'stack_sets:preview', REQUIRED),
    Route('POST', SET + '/stop', stack_sets.stop, 'stack_sets:stop', NONE, 202),
    Route('GET', SET + '/members', stack_sets.members, 'stack_sets:list_members'),
    Route('GET', SET + '/operations', stack_sets.operations, 'stack_sets:list_operations'),
    Route('GET', SET + '/operations/{number}', stack_sets.operation, 'stack_sets:show_operation'),
    Route('GET', SET + '/drift', stack_sets.drift, 'stack_sets:show_drift'),
    Route('POST', SET + '/drift', stack_sets.look, 'stack_sets:look_for_drift', NONE),

    Route('GET', PLANS, plans.index, 'plans:index'),
    Route('POST', PLANS, plans.create, 'plans:create', REQUIRED, 201, own_project=True),
    Route('GET', PLANS + '/{plan_id}', plans.show, 'plans:show'),
    Route('DELETE', PLANS + '/{plan_id}', plans.delete, 'plans:delete', NONE, 204),
    Route('POST', PLANS + '/{plan_id}/approve', plans.approve, 'plans:approve', NONE, 204),
    Route('POST', PLANS + '/{plan_id}/apply', plans.apply, 'plans:apply', OPTIONAL, 202),
    Route('POST', S + '/plans', plans.create_of_stack, 'plans:create', REQUIRED, 201),

    Route('POST', S + '/snapshots', snapshots.create, 'stacks:snapshot', REQUIRED),
    Route('GET', S + '/snapshots', snapshots.index, 'stacks:list_snapshots'),
    Route('GET', S + '/snapshots/{snapshot_id}', snapshots.show, 'stacks:show_snapshot'),
    Route('DELETE', S + '/snapshots/{snapshot_id}', snapshots.delete, 'stacks:delete_snapshot', NONE, 204),
    Route('POST', S + '/snapshots/{snapshot_id}/restore', snapshots.restore, 'stacks:restore_snapshot', NONE, 202),

    Route('GET', S + '/revisions', revisions.index, 'revisions:index'),
    Route('GET', S + '/revisions/{number}', revisions.show, 'revisions:show'),
    Route('GET', S + '/revisions/{number}/diff', revisions.diff, 'revisions:diff'),
    Route('GET', S + '/protections', guards.protections, 'stacks:show_protections'),
    Route('PUT', S + '/protections', guards.set_protections, 'stacks:protect', REQUIRED),
    Route('PATCH', S + '/protections', guards.change_protections, 'stacks:protect', REQUIRED),
    Route('DELETE', S + '/protections', guards.delete_protections, 'stacks:unprotect', NONE, 204),
    Route('GET', S + '/lock', guards.lock, 'stacks:show_lock'),
    Route('PUT', S + '/lock', guards.set_lock, 'stacks:lock', REQUIRED),
    Route('DELETE', S + '/lock', guards.delete_lock, 'stacks:unlock', NONE, 204),

    Route('GET', S + '/drift', drift.show, 'stacks:show_drift'),
    Route('POST', S + '/drift', drift.look, 'stacks:look_for_drift', NONE),

    Route('GET', S + '/explain', explain.show, 'stacks:explain'),
    Route('GET', S + '/resources/{path:.+}/explain', explain.show_resource, 'stacks:explain'),
    Route('GET', S + '/progress', progress.show, 'stacks:progress'),
    Route('GET', S + '/timeline', timeline.show, 'stacks:timeline'),

    Route('GET', S + '/outputs', outputs.index, 'stacks:list_outputs'),
    Route('GET', S + '/outputs/{output_key}', outputs.show, 'stacks:show_output'),
    Route('POST', S + '/actions', actions.action, actions.policy, OPTIONAL),

    Route('GET', S + '/resources', resources.index, 'resource:index'),
    Route('GET', R, resources.show, 'resource:show'),
    Route('PATCH', R, resources.mark_unhealthy, 'resource:mark_unhealthy', REQUIRED),
    Route('GET', R + '/metadata', resources.metadata, 'resource:metadata'),
    Route('POST', R + '/signal', resources.signal, 'resource:signal', OPTIONAL),

    Route('GET', P + '/events/stream', event_streams.of_project, 'events:index'),
    Route('GET', S + '/events/stream', event_streams.of_stack, 'events:index'),
    Route('GET', S + '/events', events.index, 'events:index'),
    Route('GET', R + '/events', events.index_of_resource, 'events:index'),
    Route('GET', R + '/events/{event_id}', events.show, 'events:show'),

    Route('GET', CONFIG, software_configs.index, 'software_configs:index'),
    Route('POST', CONFIG, software_configs.create, 'software_configs:create', REQUIRED, own_project=True),
    Route('GET', CONFIG + '/{config_id}', software_configs.show, 'software_configs:show'),
    Route('DELETE', CONFIG + '/{config_id}', software_configs.delete, 'software_configs:delete', NONE, 204),

    Route('GET', DEPLOYMENT, software_deployments.index, 'software_deployments:index'),
    Route('POST', DEPLOYMENT, software_deployments.create, 'software_deployments:create', REQUIRED, own_project=True),
    Route('GET', DEPLOYMENT + '/metadata/{server_id}', software_deployments.metadata, 'software_deployments:metadata'),
    Route('GET', DEPLOYMENT + '/{deployment_id}', software_deployments.show, 'software_deployments:show'),
    Route('PUT', DEPLOYMENT + '/{deployment_id}', software_deployments.update, 'software_deployments:update', REQUIRED),
    Route('DELETE', DEPLOYMENT + '/{deployment_id}', software_deployments.delete, 'software_deployments:delete',
          NONE, 204),

    Route('GET', P + '/services', services.index, 'service:index'),
    Route('GET', P + '/services/load', services.load, 'service:load'),
    Route('GET', P + '/build_info', services.build_info, 'build_info:build_info'),
)
