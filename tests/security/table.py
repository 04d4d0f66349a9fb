"""What is proved for each route and each risk, and by which tests; or why a risk does not apply.

A route without an entry in `ENTRIES` fails the tests: the author of a new one decides what bounds it, whether the
service asks other services for it, and what its misuse would do. All else follows from the tables of the service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from heatlite.api import openapi
from heatlite.api.wsgi import Body
from tests.security.doors import Api, Door

SECURITY, API, ISOLATION = 'tests/security/', 'tests/api/', 'tests/isolation/'


class Risk(StrEnum):
    """The value: title of the risk in the list of 2023."""

    API1 = 'Broken object level authorization'
    API2 = 'Broken authentication'
    API3 = 'Broken object property level authorization'
    API4 = 'Unrestricted resource consumption'
    API5 = 'Broken function level authorization'
    API6 = 'Unrestricted access to sensitive business flows'
    API7 = 'Server side request forgery'
    API8 = 'Security misconfiguration'
    API9 = 'Improper inventory management'
    API10 = 'Unsafe consumption of APIs'


@dataclass(frozen=True)
class Proof:
    """`what`: a clause for the page. `tests`: PATH::NAME; none: `what` is why the risk does not apply."""

    what: str
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """`bound`: of `BOUNDS`. `asks`: whether an engine, and by it other services, are asked. `flow`: of `FLOWS`."""

    bound: str
    asks: bool = False
    flow: str = ''


BOUNDS: Mapping[str, Proof] = {
    'one': Proof('one object', (f'{SECURITY}test_consumption.py::test_a_body_that_is_too_long_is_not_read',)),
    'fixed': Proof('a list that the release fixes', (f'{API}test_openapi.py::test_it_is_served_without_identity',)),
    'stacks': Proof('``max_stacks_per_tenant``; pages', (
        f'{API}test_gabbi.py', f'{SECURITY}test_consumption.py::test_a_page_has_no_more_than_was_asked_for')),
    'members': Proof('``max_resources_per_stack``', (
        'tests/simulation/test_members.py', f'{API}test_statements.py')),
    'events': Proof('``max_events_per_stack``; pages', (
        'tests/simulation/test_signals.py::test_signals_to_a_finished_stack_do_not_make_its_history_grow',
        f'{SECURITY}test_consumption.py::test_a_page_has_no_more_than_was_asked_for', f'{API}test_statements.py')),
    'stream': Proof('a number of listeners, and a queue for each', (
        f'{API}test_event_streams.py::test_the_number_of_listeners_is_bounded',
        f'{API}test_event_streams.py::test_a_slow_reader_is_bounded_and_loses_nothing')),
    'template': Proof('the limits of the language; members are counted before they are made', (
        'tests/hostile/test_hostile.py::test_a_case_costs_no_more_than_its_budget',
        'tests/simulation/test_members.py')),
    'values': Proof('1 000 values', (
        'tests/simulation/test_constraint_values.py::test_values_are_ordered_by_name_and_limited',)),
    'snapshots': Proof('``max_snapshots_per_stack``', (f'{API}test_gabbi.py',)),
    'revisions': Proof('``[revisions] keep``', ('tests/simulation/test_revisions.py',)),
    'plans': Proof('``[plans] max_plans_per_project``', (
        f'{SECURITY}test_consumption.py::test_the_most_of_a_project',)),
    'configs': Proof('``max_software_configs_per_tenant``', (
        f'{SECURITY}test_consumption.py::test_the_most_of_a_project',)),
    'deployments': Proof('``max_software_deployments_per_tenant``', (
        f'{SECURITY}test_consumption.py::test_the_most_of_a_project',)),
    'sets': Proof('200 members; a bounded number of characters and events', (
        f'{API}test_stack_set_queries.py', 'tests/hostile/test_hostile.py::test_a_peer_costs_no_more_than_its_budget')),
    'refactor': Proof('20 stacks and 1 000 moves', (
        f'{SECURITY}test_consumption.py::test_a_refactor_of_too_many',)),
    'guards': Proof('100 protections', (
        f'{API}test_guards.py::test_as_many_as_there_may_be',
        'tests/simulation/test_guards.py::test_no_more_protections_than_one_request_could_set')),
    'signals': Proof('a number of characters that wait, and of metadata', (
        'tests/simulation/test_alarms.py::test_too_many_signals',)),
    'metrics': Proof('``[alarms] max_metrics_per_project``, datapoints and pages', (
        f'{API}test_cloudwatch_refusals.py', f'{API}test_cloudwatch.py::test_metrics_are_listed_in_pages')),
    'alarms': Proof('``[alarms] max_alarms_per_project``; pages; numbers of requests that wait and of entries in a '
                    'history', (
        'tests/simulation/test_alarms.py::test_the_most_of_a_project',
        'tests/simulation/test_alarms.py::test_too_many_requests',
        'tests/simulation/test_alarms.py::test_requests_change_no_history_without_bound',
        f'{API}test_cloudwatch.py::test_alarms_are_listed_in_pages')),
}

FLOWS: Mapping[str, Proof] = {
    'makes': Proof('makes objects that cost: numbers are limited per project before anything is made', (
        f'{API}test_gabbi.py', 'tests/simulation/test_members.py')),
    'changes': Proof('changes objects: protections, locks and policies for plans stop it', (
        'tests/simulation/test_guards.py::test_an_update_is_refused_before_anything_is_stored',
        'tests/simulation/test_guards.py::test_a_lock_refuses_all_changes_but_a_check')),
    'deletes': Proof('deletes objects: protections and locks stop it', (
        'tests/simulation/test_guards.py::test_a_stack_with_something_protected_is_not_deleted',
        'tests/simulation/test_forced_deletes.py::test_protections_and_locks_are_held_to')),
    'exports': Proof('takes the data of a whole stack away: off unless the operator enables it', (
        f'{SECURITY}test_flows.py::test_stacks_are_neither_taken_away_nor_brought_by_default',)),
    'plans': Proof('carries out a plan: once, unchanged, while it is not expired, by a member', (
        'tests/simulation/test_plans.py::test_a_plan_is_applied_once',
        'tests/simulation/test_plans.py::test_a_wrong_digest_is_refused',
        'tests/simulation/test_plans.py::test_an_expired_plan_is_refused')),
    'guards': Proof('takes protection away: a lock is its owner\'s, a rule of its own for the others', (
        'tests/simulation/test_guards.py::test_a_lock_belongs_to_its_owner',
        f'{API}test_policy.py::test_operators_override')),
    'signals': Proof('scales groups and ends waits: one resource, a locked stack only notes it', (
        'tests/simulation/test_guards.py::test_a_signal_to_a_locked_stack_is_an_event',
        f'{ISOLATION}test_matrix.py::test_a_user_inside_a_stack_is_confined_to_its_own_resource')),
    'deploys': Proof('runs programs on servers: those of the own project only', (
        f'{ISOLATION}test_attacks.py::test_a_deployment_for_the_servers_of_others',)),
    'alarms': Proof('makes alarms that act: on resources of the own project, numbers are limited', (
        'tests/simulation/test_alarms.py::test_an_alarm_of_a_stack_names_resources_of_it',)),
}
HARMLESS = Proof('changes nothing in the cloud')

_DATABASE = {
    'versions.show': 'fixed', 'template_versions.index': 'fixed', 'template_versions.functions': 'fixed',
    'services.build_info': 'fixed', 'services.index': 'fixed', 'services.load': 'fixed',
    'stacks.index': 'stacks', 'stacks.detail': 'stacks',
    'stacks.lookup': 'one', 'stacks.show': 'one', 'stacks.template': 'one', 'stacks.environment': 'one',
    'stacks.files': 'one', 'forced_deletes.show': 'members', 'stack_sets.index': 'stacks', 'stack_sets.show': 'sets',
    'stack_sets.members': 'sets', 'stack_sets.operations': 'sets', 'stack_sets.operation': 'sets',
    'plans.index': 'plans', 'plans.show': 'one', 'snapshots.index': 'snapshots', 'snapshots.show': 'one',
    'revisions.index': 'revisions', 'revisions.show': 'one', 'revisions.diff': 'one', 'guards.protections': 'guards',
    'guards.lock': 'one', 'drift.show': 'members', 'explain.show': 'members', 'explain.show_resource': 'members',
    'progress.show': 'members', 'timeline.show': 'members', 'outputs.index': 'one', 'outputs.show': 'one',
    'resources.index': 'members', 'resources.show': 'one', 'resources.metadata': 'one',
    'event_streams.of_project': 'stream', 'event_streams.of_stack': 'stream', 'events.index': 'events',
    'events.index_of_resource': 'events', 'events.show': 'one', 'software_configs.index': 'configs',
    'software_configs.show': 'one', 'software_deployments.index': 'deployments', 'software_deployments.show': 'one',
    'software_deployments.metadata': 'deployments'}
_ENGINE = {
    'validate.validate': ('template', ''), 'resource_types.index': ('fixed', ''), 'resource_types.show': ('fixed', ''),
    'resource_types.template': ('fixed', ''), 'stacks.create': ('template', 'makes'),
    'stacks.preview': ('template', ''), 'stacks.update': ('template', 'changes'),
    'stacks.patch': ('template', 'changes'), 'stacks.delete': ('one', 'deletes'),
    'stacks.preview_update': ('template', ''), 'stacks.preview_patch': ('template', ''),
    'forced_deletes.begin': ('one', 'deletes'), 'forced_deletes.release': ('one', 'deletes'),
    'stacks.abandon': ('one', 'exports'), 'stacks.export': ('one', 'exports'),
    'project_templates.generate': ('members', ''), 'refactors.refactor': ('refactor', 'changes'),
    'refactors.preview': ('refactor', ''), 'stack_sets.create': ('sets', 'makes'),
    'stack_sets.preview_new': ('sets', ''), 'stack_sets.update': ('sets', 'changes'),
    'stack_sets.delete': ('one', 'deletes'), 'stack_sets.preview': ('sets', ''), 'stack_sets.stop': ('one', 'changes'),
    'stack_sets.drift': ('sets', ''), 'stack_sets.look': ('sets', ''), 'plans.create': ('plans', ''),
    'plans.create_of_stack': ('plans', ''), 'plans.delete': ('one', 'plans'), 'plans.approve': ('one', 'plans'),
    'plans.apply': ('one', 'plans'), 'snapshots.create': ('snapshots', 'makes'),
    'snapshots.delete': ('one', 'deletes'), 'snapshots.restore': ('one', 'changes'),
    'constraints.values': ('values', ''), 'guards.set_protections': ('guards', 'guards'),
    'guards.change_protections': ('guards', 'guards'),
    'guards.delete_protections': ('one', 'guards'), 'guards.set_lock': ('one', 'guards'),
    'guards.delete_lock': ('one', 'guards'), 'drift.look': ('members', ''), 'actions.action': ('one', 'changes'),
    'resources.mark_unhealthy': ('one', 'changes'), 'resources.signal': ('signals', 'signals'),
    'software_configs.create': ('configs', 'deploys'), 'software_configs.delete': ('one', 'deploys'),
    'software_deployments.create': ('deployments', 'deploys'), 'software_deployments.update': ('one', 'deploys'),
    'software_deployments.delete': ('one', 'deploys')}
_CFN = {
    'ListStacks': Entry('stacks'), 'DescribeStacks': Entry('stacks'), 'CreateStack': Entry('template', True, 'makes'),
    'UpdateStack': Entry('template', True, 'changes'), 'CancelUpdateStack': Entry('one', True, 'changes'),
    'DeleteStack': Entry('one', True, 'deletes'), 'DescribeStackEvents': Entry('events'),
    'DescribeStackResource': Entry('one'), 'DescribeStackResources': Entry('members'),
    'ListStackResources': Entry('members'), 'GetTemplate': Entry('one'), 'ValidateTemplate': Entry('template', True),
    'EstimateTemplateCost': Entry('fixed'), 'waitcondition': Entry('signals', True, 'signals'),
    'signal': Entry('signals', True, 'signals')}
_CLOUDWATCH = {
    'PutMetricData': Entry('metrics', True, 'alarms'), 'ListMetrics': Entry('metrics'),
    'GetMetricStatistics': Entry('metrics'), 'GetMetricData': Entry('metrics'),
    'PutMetricAlarm': Entry('alarms', True, 'alarms'), 'DescribeAlarms': Entry('alarms'),
    'DescribeAlarmsForMetric': Entry('alarms'), 'DescribeAlarmHistory': Entry('alarms'),
    'SetAlarmState': Entry('alarms', True, 'alarms'), 'EnableAlarmActions': Entry('alarms', True, 'alarms'),
    'DisableAlarmActions': Entry('alarms', True, 'alarms'), 'DeleteAlarms': Entry('alarms', True, 'alarms')}
ENTRIES: Mapping[tuple[Api, str], Entry] = {
    **{(Api.REST, name): Entry(bound) for name, bound in _DATABASE.items()},
    **{(Api.REST, name): Entry(bound, True, flow) for name, (bound, flow) in _ENGINE.items()},
    **{(Api.CFN, name): each for name, each in _CFN.items()},
    **{(Api.CLOUDWATCH, name): each for name, each in _CLOUDWATCH.items()}}

# Keys of bodies and parameters that are URLs, which the service itself asks.
URLS: Mapping[Api, frozenset[str]] = {
    Api.REST: frozenset({'template_url'}), Api.CFN: frozenset({'TemplateURL', 'TemplateUrl'}),
    Api.CLOUDWATCH: frozenset({'AlarmActions', 'OKActions', 'InsufficientDataActions'})}
WITH_URL = {(Api.CFN, name) for name in ('CreateStack', 'UpdateStack', 'ValidateTemplate')} | {
    (Api.CLOUDWATCH, 'PutMetricAlarm')}


def proof(risk: Risk, door: Door) -> Proof:
    """Raises KeyError for a route without an entry."""
    return _OF[risk](door, ENTRIES[door.api, door.name])


def _objects(door: Door, _entry: Entry) -> Proof:
    matrix = f'{ISOLATION}test_matrix.py::test_no_request_tells_or_changes_anything_of_another_project'
    if door.api is Api.CLOUDWATCH:
        return Proof('names are those of the project of the caller', (
            f'{API}test_cloudwatch.py::test_another_project_sees_and_changes_nothing',
            f'{API}test_cloudwatch.py::test_an_administrator_has_the_own_project_only'))
    if door.api is Api.CFN:
        return Proof('objects of another project are missing', (matrix,))
    if not set(names_of(door)) - {'tenant_id'}:
        return Proof('the project of the URL must be that of the token', (matrix,))
    return Proof('objects of another project are missing', (
        matrix, f'{API}test_isolation.py::test_what_is_not_yours_does_not_exist',
        f'{ISOLATION}test_attacks.py::test_an_engine_refuses_what_an_api_should_have'))


def names_of(door: Door) -> list[str]:
    return re.findall(r'{(\w+)', door.path)


def _authentication(door: Door, _entry: Entry) -> Proof:
    tests = [f'{SECURITY}test_authentication.py::test_without_a_good_token_nothing_is_answered']
    if door.api is Api.REST:
        return Proof('Keystone checks the token', (*tests, f'{API}test_keystone.py'))
    return Proof('Keystone checks the signature or the token', (*tests, f'{API}test_cfn_keystone.py'))


def _properties(door: Door, _entry: Entry) -> Proof:
    shape = f'{SECURITY}test_properties.py::test_no_answer_has_a_name_of_the_service_itself'
    if door.api is Api.CLOUDWATCH:
        return Proof('only declared parameters are read', (f'{API}test_cloudwatch_refusals.py',))
    if door.api is Api.CFN:
        if door.is_action:
            return Proof('only parameters of the action are read', (
                f'{SECURITY}test_properties.py::test_a_parameter_that_is_none_of_the_action_changes_nothing',
                f'{API}test_cfn.py'))
        return Proof('the body is data of a program, stored as a whole', ('tests/simulation/test_signals.py',))
    assert door.route is not None
    if door.name == 'resources.signal':
        return Proof('the body is data of a program, stored as a whole', ('tests/simulation/test_signals.py',))
    if door.name == openapi.LOOKUP:
        return Proof('the body is not read, the answer is a URL')
    if door.route.body is not Body.NONE:
        return Proof('keys that are not of the request change nothing; the answer is as described', (
            f'{SECURITY}test_properties.py::test_a_key_that_is_none_of_the_route_changes_nothing', shape))
    if door.method != 'GET':
        return Proof('a body is refused; the answer is as described', (
            f'{API}test_onion.py::test_a_route_without_a_body_refuses_one', shape))
    if openapi.OPERATIONS[door.name].kind:
        return Proof('the stream has the fields of an event', (
            f'{API}test_event_streams.py::test_an_event_as_it_is_sent',))
    return Proof('the answer is as described', (
        f'{SECURITY}test_properties.py::test_an_answer_has_what_is_described_and_nothing_else', shape,
        'tests/system/test_canaries.py::test_answers'))


def _consumption(_door: Door, entry: Entry) -> Proof:
    found = BOUNDS[entry.bound]
    return Proof(found.what, (
        *found.tests, f'{SECURITY}test_consumption.py::test_a_body_that_is_too_long_is_not_read',
        f'{SECURITY}test_consumption.py::test_a_query_with_too_many_fields',
        f'{SECURITY}test_rates.py::test_a_project_that_sends_too_many'))


def _functions(door: Door, _entry: Entry) -> Proof:
    if door.api is Api.CLOUDWATCH:
        return Proof(f'rule ``cloudwatch:{door.name}``', (f'{API}test_cloudwatch.py::test_policy',))
    if door.api is Api.CFN:
        rule = f'cloudformation:{door.name}' if door.is_action else 'resource:signal'
        return Proof(f'rule ``{rule}``', (
            f'{SECURITY}test_authorization.py::test_roles_and_actions_of_the_cloudformation_api',))
    assert door.route is not None
    rule = f'rule ``{door.route.policy}``' if isinstance(door.route.policy, str) else 'a rule for each kind of request'
    return Proof(rule, (
        f'{API}test_isolation.py::test_readers_read_and_change_nothing',
        f'{API}test_isolation.py::test_without_a_role_nothing_is_answered',
        f'{API}test_policy_page.py::test_every_route_has_a_rule'))


def _flows(_door: Door, entry: Entry) -> Proof:
    return FLOWS[entry.flow] if entry.flow else HARMLESS


def _urls(door: Door, _entry: Entry) -> Proof:
    if not has_url(door):
        return Proof('no part of the request is a URL that the service asks')
    if door.api is Api.CLOUDWATCH:
        return Proof('``template_fetch_deny``', (
            'tests/common/test_post.py::test_an_address_that_is_denied_is_not_asked',
            'tests/simulation/test_alarms.py::test_an_action_that_is_refused'))
    return Proof('``template_fetch_deny``, also for logins at other clouds, which templates name', (
        f'{API}test_template_url.py::test_what_is_not_asked_unless_it_is_allowed',
        f'{API}test_template_url.py::test_a_name_that_stands_for_something_else_a_moment_later',
        *(f'{SECURITY}test_urls.py::{name}' for name in (
            'test_a_url_inside_is_not_asked', 'test_a_keystone_inside_is_not_asked',
            'test_a_catalogue_that_leads_inside', 'test_a_redirect_that_leads_inside'))))


def has_url(door: Door) -> bool:
    """Whether a request may have a URL that the service asks."""
    if door.api is not Api.REST:
        return (door.api, door.name) in WITH_URL
    shape = openapi.OPERATIONS[door.name].body
    return bool(shape) and any(key in repr(openapi.shapes()[shape]) for key in URLS[Api.REST])


def _configuration(door: Door, _entry: Entry) -> Proof:
    methods = {Api.REST: f'{SECURITY}test_configuration.py::test_other_methods_are_refused',
               Api.CFN: f'{API}test_cfn.py::test_paths',
               Api.CLOUDWATCH: f'{API}test_cloudwatch_refusals.py::test_paths'}
    return Proof('methods, faults, headers, other sites', (
        methods[door.api], *(f'{SECURITY}test_configuration.py::{name}' for name in (
            'test_a_fault_inside_shows_nothing_of_it', 'test_headers_of_answers',
            'test_a_page_of_another_site_may_not_ask'))))


def _inventory(door: Door, _entry: Entry) -> Proof:
    found = (f'{SECURITY}test_inventory.py::test_every_door_is_on_the_page',
             f'{SECURITY}test_inventory.py::test_what_needs_no_login')
    if door.api is Api.REST:
        return Proof('in the description of the API', (
            *found, f'{API}test_openapi.py::test_every_handler_is_described_and_no_other',
            f'{SECURITY}test_inventory.py::test_every_route_is_described'))
    return Proof('in the table of actions, which the API serves alone', found)


def _services(_door: Door, entry: Entry) -> Proof:
    if not entry.asks:
        return Proof('answered from the database')
    return Proof('answers are bounded in size and time', tuple(f'{SECURITY}test_services.py::{name}' for name in (
        'test_an_answer_that_is_too_long', 'test_an_answer_that_takes_too_long', 'test_what_is_no_answer')))


_OF = {Risk.API1: _objects, Risk.API2: _authentication, Risk.API3: _properties, Risk.API4: _consumption,
       Risk.API5: _functions, Risk.API6: _flows, Risk.API7: _urls, Risk.API8: _configuration, Risk.API9: _inventory,
       Risk.API10: _services}
