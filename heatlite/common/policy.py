"""Access rules in one table, checked by oslo.policy.

Operators override rules in `policy.yaml`; `oslopolicy-sample-generator --namespace heatlite` prints the defaults.
"""

from __future__ import annotations

import copy
import functools
import logging
import operator
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from oslo_config import cfg
from oslo_policy import _checks, policy
from oslo_policy import opts as policy_options

from heatlite.common import exception, log_throttle, policy_files
from heatlite.common.context import TOKEN_INFO, RequestContext
from heatlite.common.i18n import _

LOG = logging.getLogger(__name__)

READER = 'role:reader and project_id:%(project_id)s'
MEMBER = 'role:member and project_id:%(project_id)s'
ADMIN = 'role:admin and project_id:%(project_id)s'
STACK_USER = 'role:heat_stack_user and project_id:%(project_id)s'       # agents in servers, in their own project
READER_OR_STACK_USER = f'({READER}) or ({STACK_USER})'
MEMBER_OR_STACK_USER = f'({MEMBER}) or ({STACK_USER})'
NOBODY = '!'
FILE = policy_files.DEFAULT_FILE             # unless [oslo_policy] policy_file names another

# The former rules, before secure RBAC; OR-ed in only with `[oslo_policy] enforce_new_defaults = false`.
NOT_STACK_USER = 'rule:deny_stack_user'
EVERYBODY = 'rule:allow_everybody'
NEVER_CHANGED = None

HELPERS = (
    ('context_is_admin', 'role:admin and is_admin_project:True', 'Sees and changes stacks of all projects.'),
    ('project_admin', 'role:admin', 'An admin of any project.'),
    ('deny_stack_user', 'not role:heat_stack_user', 'Anybody but the users a stack makes for its own instances.'),
    ('deny_everybody', NOBODY, 'Nobody.'),
    ('allow_everybody', '', 'Anybody who is authenticated.'),
)

# rule, default, rule before secure RBAC, what it allows
RULES = (
    ('actions:action', MEMBER, NOT_STACK_USER, 'Run an action that has no rule of its own.'),
    ('actions:snapshot', MEMBER, NOT_STACK_USER, 'Take a snapshot as an action.'),
    ('actions:suspend', MEMBER, NOT_STACK_USER, 'Suspend a stack.'),
    ('actions:resume', MEMBER, NOT_STACK_USER, 'Resume a suspended stack.'),
    ('actions:check', READER, NOT_STACK_USER, 'Compare a stack with the cloud.'),
    ('actions:cancel_update', MEMBER, NOT_STACK_USER, 'Cancel a running update and roll it back.'),
    ('actions:cancel_without_rollback', MEMBER, NOT_STACK_USER, 'Cancel what runs and leave the stack as it is.'),
    ('build_info:build_info', READER, NOT_STACK_USER, 'Show the versions of API and engine.'),
    ('cloudformation:ListStacks', READER, NOT_STACK_USER, 'List stacks, the CloudFormation way.'),
    ('cloudformation:DescribeStacks', READER, NOT_STACK_USER, 'Show stacks.'),
    ('cloudformation:DescribeStackEvents', READER, NOT_STACK_USER, 'List events.'),
    ('cloudformation:ValidateTemplate', READER, NOT_STACK_USER, 'Validate a template.'),
    ('cloudformation:GetTemplate', READER, NOT_STACK_USER, 'Show the template of a stack.'),
    ('cloudformation:EstimateTemplateCost', READER, NOT_STACK_USER, 'Say what a template costs.'),
    ('cloudformation:DescribeStackResource', READER_OR_STACK_USER, EVERYBODY, 'Show a resource with its metadata.'),
    ('cloudformation:DescribeStackResources', READER, NOT_STACK_USER, 'Show resources.'),
    ('cloudformation:ListStackResources', READER, NOT_STACK_USER, 'List resources.'),
    ('cloudformation:CreateStack', MEMBER, NOT_STACK_USER, 'Create a stack.'),
    ('cloudformation:UpdateStack', MEMBER, NOT_STACK_USER, 'Update a stack.'),
    ('cloudformation:DeleteStack', MEMBER, NOT_STACK_USER, 'Delete a stack.'),
    ('cloudformation:CancelUpdateStack', MEMBER, NOT_STACK_USER, 'Cancel a running update and roll it back.'),
    ('cloudwatch:PutMetricData', MEMBER_OR_STACK_USER, EVERYBODY, 'Store datapoints of metrics.'),
    ('cloudwatch:ListMetrics', READER, NOT_STACK_USER, 'List metrics.'),
    ('cloudwatch:GetMetricStatistics', READER, NOT_STACK_USER, 'Show statistics of a metric.'),
    ('cloudwatch:GetMetricData', READER, NOT_STACK_USER, 'Show statistics of metrics.'),
    ('cloudwatch:PutMetricAlarm', MEMBER, NOT_STACK_USER, 'Create an alarm or change it.'),
    ('cloudwatch:DescribeAlarms', READER, NOT_STACK_USER, 'List alarms.'),
    ('cloudwatch:DescribeAlarmsForMetric', READER, NOT_STACK_USER, 'List the alarms of a metric.'),
    ('cloudwatch:DescribeAlarmHistory', READER, NOT_STACK_USER, 'Show what happened to alarms.'),
    ('cloudwatch:SetAlarmState', MEMBER, NOT_STACK_USER, 'Set the state of an alarm.'),
    ('cloudwatch:EnableAlarmActions', MEMBER, NOT_STACK_USER, 'Let alarms act.'),
    ('cloudwatch:DisableAlarmActions', MEMBER, NOT_STACK_USER, 'Let alarms change their state only.'),
    ('cloudwatch:DeleteAlarms', MEMBER, NOT_STACK_USER, 'Delete alarms.'),
    ('events:index', READER, NOT_STACK_USER, 'List events.'),
    ('events:show', READER, NOT_STACK_USER, 'Show one event.'),
    ('plans:index', READER, NOT_STACK_USER, 'List plans.'),
    ('plans:create', MEMBER, NOT_STACK_USER, 'Plan a create, an update or a delete.'),
    ('plans:show', READER, NOT_STACK_USER, 'Show a plan.'),
    ('plans:delete', MEMBER, NOT_STACK_USER, 'Delete a plan that was not applied.'),
    ('plans:approve', MEMBER, NOT_STACK_USER, 'Approve a plan.'),
    ('plans:apply', MEMBER, NOT_STACK_USER, 'Apply a plan.'),
    ('revisions:index', READER, NOT_STACK_USER, 'List the revisions of a stack.'),
    ('revisions:show', READER, NOT_STACK_USER, 'Show a revision with its definition.'),
    ('revisions:diff', READER, NOT_STACK_USER, 'Compare two revisions.'),
    ('resource:index', READER, NOT_STACK_USER, 'List resources.'),
    ('resource:metadata', READER_OR_STACK_USER, EVERYBODY, 'Show the metadata of a resource.'),
    ('resource:signal', READER_OR_STACK_USER, EVERYBODY, 'Send a signal to a resource.'),
    ('resource:mark_unhealthy', MEMBER, NOT_STACK_USER, 'Mark a resource as unhealthy.'),
    ('resource:show', READER, NOT_STACK_USER, 'Show a resource.'),
    ('resource:show_access', 'rule:stacks:update_patch', NEVER_CHANGED,
     'Show attributes of resources that give access to something, secrets in the others, and logins in configs.'),
    ('service:index', ADMIN, 'rule:context_is_admin', 'List the engines.'),
    ('service:load', ADMIN, NEVER_CHANGED, 'Show how much work the engines have.'),
    ('software_configs:global_index', NOBODY, NEVER_CHANGED, 'List configs of all projects.'),
    ('software_configs:index', READER, NOT_STACK_USER, 'List configs.'),
    ('software_configs:create', MEMBER, NOT_STACK_USER, 'Create a config.'),
    ('software_configs:show', READER, NOT_STACK_USER, 'Show a config.'),
    ('software_configs:delete', MEMBER, NOT_STACK_USER, 'Delete a config.'),
    ('software_deployments:index', READER, NOT_STACK_USER, 'List deployments.'),
    ('software_deployments:create', MEMBER, NOT_STACK_USER, 'Create a deployment.'),
    ('software_deployments:show', READER, NOT_STACK_USER, 'Show a deployment.'),
    ('software_deployments:update', MEMBER, NOT_STACK_USER, 'Update a deployment.'),
    ('software_deployments:delete', MEMBER, NOT_STACK_USER, 'Delete a deployment.'),
    ('software_deployments:metadata', READER_OR_STACK_USER, NEVER_CHANGED, 'Show the configs of a server.'),
    ('stack_sets:index', READER, NEVER_CHANGED, 'List stack sets.'),
    ('stack_sets:show', READER, NEVER_CHANGED, 'Show a stack set.'),
    ('stack_sets:list_members', READER, NEVER_CHANGED, 'List the members of a stack set with their states.'),
    ('stack_sets:list_operations', READER, NEVER_CHANGED, 'List the operations of a stack set.'),
    ('stack_sets:show_operation', READER, NEVER_CHANGED, 'Show an operation of a stack set with its outcomes.'),
    ('stack_sets:show_drift', READER, NEVER_CHANGED, 'Show the drift that was found in the members of a stack set.'),
    ('stack_sets:create', MEMBER, NEVER_CHANGED, 'Create a stack set.'),
    ('stack_sets:update', MEMBER, NEVER_CHANGED, 'Update a stack set, or try again what has failed.'),
    ('stack_sets:delete', MEMBER, NEVER_CHANGED, 'Delete a stack set.'),
    ('stack_sets:stop', MEMBER, NEVER_CHANGED, 'Stop the operation of a stack set.'),
    ('stack_sets:preview', MEMBER, NEVER_CHANGED, 'Preview what an update would do in the members of a stack set.'),
    ('stack_sets:look_for_drift', MEMBER, NEVER_CHANGED, 'Compare the stacks of a stack set with their clouds.'),
    ('stacks:abandon', MEMBER, NOT_STACK_USER, 'Forget a stack and leave its resources alone.'),
    ('stacks:create', MEMBER, NOT_STACK_USER, 'Create or adopt a stack.'),
    ('stacks:delete', MEMBER, NOT_STACK_USER, 'Delete a stack.'),
    ('stacks:force_delete', MEMBER, NOT_STACK_USER,
     'Delete a stack in any case, and leave in the cloud what cannot be deleted.'),
    ('stacks:refactor', MEMBER, NEVER_CHANGED, 'Move resources between names and stacks, and rename stacks.'),
    ('stacks:release', MEMBER, NOT_STACK_USER, 'Delete a stack and keep its objects in the cloud.'),
    ('stacks:show_left', READER, NOT_STACK_USER, 'Show what a forced delete or a release has left in the cloud.'),
    ('stacks:detail', READER, NOT_STACK_USER, 'List stacks in detail.'),
    ('stacks:show_drift', READER, NOT_STACK_USER, 'Show what the last look for drift has found.'),
    ('stacks:look_for_drift', MEMBER, NOT_STACK_USER, 'Compare the objects of a stack with its definition.'),
    ('stacks:explain', READER, NOT_STACK_USER, 'Explain what a stack waits for, or why it failed.'),
    ('stacks:progress', READER, NOT_STACK_USER, 'Tell how far the action of a stack has come.'),
    ('stacks:timeline', READER, NOT_STACK_USER, 'Tell when each resource of a stack was worked on.'),
    ('stacks:export', MEMBER, NOT_STACK_USER, 'Export a stack.'),
    ('stacks:generate_from_project', MEMBER, NEVER_CHANGED, 'Write a template of the objects of the project.'),
    ('stacks:generate_template', MEMBER, NOT_STACK_USER, 'Generate a template from a resource type.'),
    ('stacks:global_index', NOBODY, NEVER_CHANGED, 'List stacks of all projects.'),
    ('stacks:import', MEMBER, NEVER_CHANGED, 'Import objects that exist into resources of a stack.'),
    ('stacks:index', READER, NOT_STACK_USER, 'List stacks.'),
    ('stacks:lock', MEMBER, NOT_STACK_USER, 'Lock a stack.'),
    ('stacks:unlock', MEMBER, NOT_STACK_USER, 'Remove an own lock of a stack.'),
    ('stacks:unlock_any', ADMIN, 'rule:context_is_admin', 'Remove the lock of another user.'),
    ('stacks:show_lock', READER, NOT_STACK_USER, 'Show the lock of a stack.'),
    ('stacks:protect', MEMBER, NOT_STACK_USER, 'Protect a stack and its resources.'),
    ('stacks:unprotect', MEMBER, NOT_STACK_USER, 'Remove protections of a stack.'),
    ('stacks:show_protections', READER, NOT_STACK_USER, 'Show the protections of a stack.'),
    ('stacks:list_resource_types', READER, NOT_STACK_USER, 'List resource types.'),
    ('stacks:list_template_versions', READER, NOT_STACK_USER, 'List template versions.'),
    ('stacks:list_template_functions', READER, NOT_STACK_USER, 'List the functions of a template version.'),
    ('stacks:lookup', READER_OR_STACK_USER, EVERYBODY, 'Find a stack by its name.'),
    ('stacks:preview', READER, NOT_STACK_USER, 'Preview a new stack.'),
    ('stacks:constraint_values', READER, NEVER_CHANGED, 'List the values that a constraint accepts.'),
    ('stacks:resource_schema', READER, NOT_STACK_USER, 'Show the schema of a resource type.'),
    ('stacks:show', READER, NOT_STACK_USER, 'Show a stack.'),
    ('stacks:template', READER, NOT_STACK_USER, 'Show the template of a stack.'),
    ('stacks:environment', READER, NOT_STACK_USER, 'Show the environment of a stack.'),
    ('stacks:files', READER, NOT_STACK_USER, 'Show the files of a stack.'),
    ('stacks:update', MEMBER, NOT_STACK_USER, 'Update a stack.'),
    ('stacks:update_patch', MEMBER, NOT_STACK_USER, 'Update parts of a stack.'),
    ('stacks:update_no_change', 'rule:stacks:update_patch', NEVER_CHANGED, 'Drive a stack to its own definition.'),
    ('stacks:preview_refactor', MEMBER, NEVER_CHANGED, 'Preview a refactor.'),
    ('stacks:preview_update', MEMBER, NOT_STACK_USER, 'Preview an update.'),
    ('stacks:preview_update_patch', MEMBER, NOT_STACK_USER, 'Preview an update of parts.'),
    ('stacks:validate_template', MEMBER, NOT_STACK_USER, 'Validate a template.'),
    ('stacks:snapshot', MEMBER, NOT_STACK_USER, 'Take a snapshot.'),
    ('stacks:show_snapshot', READER, NOT_STACK_USER, 'Show a snapshot.'),
    ('stacks:delete_snapshot', MEMBER, NOT_STACK_USER, 'Delete a snapshot.'),
    ('stacks:list_snapshots', READER, NOT_STACK_USER, 'List the snapshots of a stack.'),
    ('stacks:restore_snapshot', MEMBER, NOT_STACK_USER, 'Restore a snapshot.'),
    ('stacks:list_outputs', READER, NOT_STACK_USER, 'List outputs.'),
    ('stacks:show_output', READER, NOT_STACK_USER, 'Show one output.'),
)

# Types that require an admin: they change what all projects of a cloud share.
ADMIN_TYPES = (
    'OS::Nova::Flavor', 'OS::Nova::Quota', 'OS::Nova::HostAggregate',
    'OS::Cinder::EncryptedVolumeType', 'OS::Cinder::VolumeType', 'OS::Cinder::Quota', 'OS::Cinder::QoSSpecs',
    'OS::Cinder::QoSAssociation',
    'OS::Neutron::Quota', 'OS::Neutron::ProviderNet', 'OS::Neutron::QoSPolicy', 'OS::Neutron::QoSBandwidthLimitRule',
    'OS::Neutron::QoSDscpMarkingRule', 'OS::Neutron::QoSMinimumBandwidthRule', 'OS::Neutron::QoSMinimumPacketRateRule',
    'OS::Neutron::Segment',
    'OS::Octavia::Quota', 'OS::Octavia::Flavor', 'OS::Octavia::FlavorProfile', 'OS::Octavia::AvailabilityZone',
    'OS::Octavia::AvailabilityZoneProfile',
    'OS::Manila::ShareType', 'OS::Blazar::Host', 'OS::Keystone::*',
)

SHOW_ACCESS = 'resource:show_access'
# Attributes that give access to something, and those for which a service makes something when they are read. By name,
# not by type: the type in a template may be another name of it. Callers without the rule `SHOW_ACCESS` get null. The
# logins in configs of deployments, which they do not get either, are in `heatlite.api.deployment_logins`.
ACCESS_ATTRIBUTES = frozenset({
    'AlarmUrl', 'alarm_url',                            # signed URLs of scaling policies and workflows
    'console_urls',                                     # of servers; the service makes new ones
    'curl_cli', 'signal', 'token',                      # of handles of wait conditions
    'os_collect_config',                                # login of the agent in a server
    'query_str', 'signature',                           # of a signed URL of a queue
    'SecretAccessKey', 'decrypted_payload', 'private_key', 'psk',
})

_SCOPES = ['project']


def gives_access(attribute: str) -> bool:
    """Whether an attribute is one of ACCESS_ATTRIBUTES, or such a one of a resource inside: `resource.NAME.token`."""
    return not ACCESS_ATTRIBUTES.isdisjoint(attribute.split('.'))


def rule_of_type(resource_type: str) -> str:
    return f'resource_types:{resource_type}'


def list_rules() -> list[policy.RuleDefault]:
    """All defaults, for the enforcer and for the sample generator. The caller may change them: the library sets the
    check of a rule with a former one. They are parsed once in a process."""
    return [copy.copy(rule) for rule in _parsed_rules()]


@functools.cache
def _parsed_rules() -> tuple[policy.RuleDefault, ...]:
    rules: list[policy.RuleDefault] = [
        policy.RuleDefault(name, check, description) for name, check, description in HELPERS]
    for name, check, before, description in RULES:
        former = None
        if before is not NEVER_CHANGED:
            former = policy.DeprecatedRule(
                name, before, deprecated_reason='Replaced by the reader, member and admin personas.',
                deprecated_since='Wallaby')
        rules.append(policy.RuleDefault(name, check, description, deprecated_rule=former, scope_types=_SCOPES))
    rules += [policy.RuleDefault(rule_of_type(name), 'rule:project_admin', f'Use {name}.', scope_types=_SCOPES)
              for name in ADMIN_TYPES]
    return tuple(rules)


class Enforcer(policy.Enforcer):
    """The rules of texts that were read before, over the defaults. Reads no file itself: where a file is gone, the
    library takes the defaults, and where one of several cannot be read it leaves half of the rules."""

    def __init__(self, conf: cfg.ConfigOpts, texts: Sequence[str]) -> None:
        super().__init__(conf)
        self.suppress_deprecation_warnings = True
        self.suppress_default_change_warnings = True
        self.register_defaults(list_rules())
        for text in texts:
            self.set_rules(policy.Rules.load(text, self.default_rule), overwrite=False, use_conf=True)
            self._record_file_rules(text)
        super().load_rules()

    def load_rules(self, force_reload: bool = False) -> None:
        """Do nothing: the library calls it before each question."""

    def _get_policy_path(self, path: str) -> str:
        """Raise ConfigFilesNotFoundError: the library asks for the path of each file and folder that the options name,
        to read it."""
        raise cfg.ConfigFilesNotFoundError([path])

    def register_default(self, default: policy.RuleDefault) -> None:
        """Register a rule without the library's deep copy of it, which is most of the time: each enforcer gets rules of
        its own from `list_rules`."""
        if default.name in self.registered_rules:
            raise policy.DuplicatePolicyError(default.name)
        self.registered_rules[default.name] = default


# The attributes of the caller that a rule may use: the values of `RequestContext.to_policy_values`, but other names of
# these, and parts of the token, after which an answer is not remembered.
_VALUES = ('user_id', 'user_domain_id', 'system_scope', 'domain_id', 'project_id', 'project_domain_id',
           'is_admin_project', 'service_user_id', 'service_user_domain_id', 'service_project_id',
           'service_project_domain_id', 'is_admin')
_values_of = operator.attrgetter(*_VALUES)
_PLAIN = (_checks.TrueCheck, _checks.FalseCheck, _checks.RoleCheck, _checks.GenericCheck)


class Policy:
    """The rules of one process. Files are read again only when they change, and answers are cached until then: the
    library needs a quarter of a short request to compute one.

    Files are checked for changes once a second, not at each question: that costs more than the answer. Where one cannot
    be read, is empty or is gone, as while it is edited, all rules stay as they were: the defaults may allow more. One
    that stays away for a minute, while its folder exists, was removed on purpose.
    """

    REMEMBERED = 10_000         # answers
    POLL_SECONDS = 1.0          # seconds
    REMOVED = 60.0              # seconds without a file until its rules go

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """Raise Error, naming the file, if one cannot be read."""
        policy_options.set_defaults(conf, FILE)
        self._conf = conf
        self._looked = time.monotonic()
        self._stamps = policy_files.stamps(conf)
        self._enforcer = Enforcer(conf, [policy_files.read(path) for path in self._stamps])
        self._gone: dict[Path, float] = {}          # since when files are missing
        self._answers: dict[tuple[object, ...], bool] = {}
        self._answered_by: object = None           # the rules that the cached answers are from

    def _look(self) -> None:
        """Take the rules of files that have changed, if all can be read."""
        now = time.monotonic()
        if now - self._looked < self.POLL_SECONDS:
            return
        self._looked = now
        try:
            stamps = policy_files.stamps(self._conf)
            if stamps == self._stamps:
                return
            self._enforcer = Enforcer(self._conf, self._read(stamps))
            self._stamps = stamps
            for path in self._gone:
                LOG.warning('The access rules of %s do not apply any more: the file was removed', path)
            self._gone = {}
        except exception.Error as error:
            log_throttle.log(LOG, logging.WARNING, 'files', 'The access rules stay as they were: %s. Correct the file; '
                             'heatlite-manage doctor --only policy shows what is wrong', error)

    def _read(self, stamps: Mapping[Path, policy_files.Stamp]) -> list[str]:
        """Return the texts of the files. Raises Error for one that is wrong, empty, or gone for less than REMOVED."""
        self._gone = {path: self._gone.get(path, self._looked) for path in self._stamps if path not in stamps}
        for path, since in self._gone.items():
            if self._looked - since < self.REMOVED or not path.parent.is_dir():
                raise exception.Error(_('%s is gone: if that is meant, wait a minute and let its folder exist') % path)
        texts = {path: policy_files.read(path) for path in stamps}
        for path, text in texts.items():
            if not text.strip() and path in self._stamps:
                raise exception.Error(_('%s is empty: if that is meant, write {} into it') % path)
        return list(texts.values())

    def allows(self, context: RequestContext, rule: str, target: Mapping[str, object] | None = None) -> bool:
        """Whether `context` passes `rule`; `target` is by default the caller's own project and user.

        An unknown rule refuses every caller.
        """
        if target is None:
            target = {'project_id': context.project_id, 'user_id': context.user_id}
        self._look()
        if self._answered_by is not self._enforcer.rules or len(self._answers) > self.REMEMBERED:
            self._answered_by, self._answers = self._enforcer.rules, {}
        key = (rule, *target.items(), _values_of(context), *context.roles, None, *context.service_roles)
        found = self._answers.get(key)
        if found is None:
            found = self._ask(context, rule, target)
            if self._is_plain(rule):
                self._answers[key] = found
        return found

    def _ask(self, context: RequestContext, rule: str, target: Mapping[str, object]) -> bool:
        try:
            return bool(self._enforcer.enforce(rule, dict(target), context.to_policy_values()))
        except policy.InvalidScope:
            return False

    def _is_plain(self, rule: str) -> bool:
        """Whether caller and target alone decide: an operator's rule may also call another service, or unknown code."""
        return rule in self._enforcer.rules and self._is_plain_check(self._enforcer.rules[rule])

    def _is_plain_check(self, check: object) -> bool:
        match check:
            case _checks.AndCheck() | _checks.OrCheck():
                return all(map(self._is_plain_check, check.rules))
            case _checks.NotCheck():
                return self._is_plain_check(check.rule)
            case _checks.RuleCheck():
                return self._is_plain(check.match)
            case _checks.GenericCheck():
                return str(check.kind).partition('.')[0] != TOKEN_INFO
        return type(check) in _PLAIN

    def enforce(self, context: RequestContext, rule: str, target: Mapping[str, object] | None = None) -> None:
        """Raise Forbidden, naming the rule."""
        if not self.allows(context, rule, target):
            raise exception.Forbidden(action=rule)

    def is_admin(self, context: RequestContext) -> bool:
        return self.allows(context, 'context_is_admin', {})

    def allows_type(self, context: RequestContext, resource_type: str) -> bool:
        """Whether `context` may use a resource type; a type without a rule is allowed."""
        return all(self.allows(context, rule) for rule in self._rules_of_type(resource_type))

    def limits_type(self, resource_type: str) -> bool:
        """Whether there is a rule for a resource type."""
        return bool(self._rules_of_type(resource_type))

    def _rules_of_type(self, resource_type: str) -> list[str]:
        self._look()
        namespace = f'{resource_type.rpartition("::")[0]}::*'
        return [rule for rule in (rule_of_type(resource_type), rule_of_type(namespace)) if rule in self._enforcer.rules]

    def enforce_type(self, context: RequestContext, resource_type: str) -> None:
        """Raise Forbidden, naming the type."""
        if not self.allows_type(context, resource_type):
            raise exception.Forbidden(action=rule_of_type(resource_type))
