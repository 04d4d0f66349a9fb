"""OS::Mistral::Workflow.

Schema: heatlite/engine/resources/catalogue/mistral.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception, yaml_writing
from heatlite.common.i18n import _
from heatlite.engine import translation
from heatlite.engine.resources import catalogue, existing, signal_responder
from heatlite.engine.resources.unknown_values import entries, is_set
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties, Values

TYPE = 'OS::Mistral::Workflow'
FORMER_POLICIES = ('pause_before', 'wait_after', 'wait_before', 'timeout', 'concurrency', 'retry')
ONLY_DIRECT = ('on_success', 'on_error', 'on_complete')


class Workflow(signal_responder.SignalResponder):
    """Tasks in the language of the workflow service. A signal runs them."""

    default_client_name = 'mistral'
    entity = 'workflows'
    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    always_replace_on_check_failed = False

    PROPERTIES = (NAME, TYPE_, DESCRIPTION, INPUT, OUTPUT, TASKS, PARAMS, TASK_DEFAULTS, USE_BODY, TAGS) = (
        'name', 'type', 'description', 'input', 'output', 'tasks', 'params', 'task_defaults',
        'use_request_body_as_input', 'tags')
    ATTRIBUTES = (WORKFLOW_DATA, ALARM_URL, EXECUTIONS) = ('data', 'alarm_url', 'executions')

    def translation_rules(self, properties: Properties) -> list[translation.TranslationRule]:
        rule = translation.TranslationRule
        rules = [rule(properties, rule.REPLACE, [self.TASKS, name], value_name='policies', custom_value_path=[name])
                 for name in FORMER_POLICIES if _has_policy(properties, self.TASKS, name)]
        return [*rules, rule(properties, rule.DELETE, [self.TASKS, 'policies'])]

    def validate(self) -> None:
        """Raise StackValidationFailed."""
        super().validate()
        kind = self.properties[self.TYPE_]
        for task in entries(self.properties, self.TASKS):
            where = {'name': self.name, 'task': task.get('name')}
            if all(task.get(name) and is_set(task.get(name)) for name in ('action', 'workflow')):
                raise exception.ResourcePropertyConflict('action', 'workflow')
            if kind == 'reverse' and any(task.get(name) and is_set(task[name]) for name in ONLY_DIRECT):
                raise exception.StackValidationFailed(message=_(
                    'task %(task)s contains property that is only for direct workflows in resource %(name)s.') % where)
            if kind == 'direct' and task.get('requires') and is_set(task['requires']):
                raise exception.StackValidationFailed(message=_(
                    'task %(task)s contains property "requires" in case of direct workflow in resource %(name)s. '
                    'Only reverse workflows can contain property "requires".') % where)
        if kind == 'reverse' and self.properties[self.PARAMS] is not None \
                and not (self.properties[self.PARAMS] or {}).get('task_name'):
            raise exception.StackValidationFailed(message=_(
                '"task_name" is not assigned in "params" in case of reverse type workflow.'))

    # --- the text -----------------------------------------------------------------------------------------

    def _workflow_name(self) -> str:
        return str(self.resource_id or self.properties.get(self.NAME) or self.physical_resource_name())

    def definition_of(self, props: Properties) -> str:
        """The workflow in its language: words have dashes there."""
        body: dict[str, object] = {'type': props[self.TYPE_]}
        for name in (self.DESCRIPTION, self.OUTPUT, self.TAGS):
            if props[name]:
                body[name] = props[name]
        if props[self.INPUT]:
            body['input'] = list(props[self.INPUT])
        if props[self.TASK_DEFAULTS]:
            body['task-defaults'] = _dashed(props[self.TASK_DEFAULTS])
        body['tasks'] = {task['name']: _dashed({name: value for name, value in task.items() if name != 'name'})
                         for task in props[self.TASKS]}
        return yaml_writing.dumped({'version': '2.0', self._workflow_name(): body}, _('The workflow'))

    # --- its life -----------------------------------------------------------------------------------------

    def handle_create(self) -> None:
        super().handle_create()
        text = self.definition_of(self.properties)
        if self.properties[self.NAME]:
            existing.snapshot_candidates(self, self._namesakes)
        try:
            name = self.client().workflows.create(text)[0].name
        except Exception as error:
            # What a lost reply, or a crash, has left under a name of our own is ours.
            if not self.client_plugin().is_conflict(error) or self.properties[self.NAME]:
                raise
            name = self.client().workflows.update(text)[0].name
        existing.forget(self)
        self.resource_id_set(name)

    def find_existing(self) -> str | None:
        found = [{'id': name} for name in self._namesakes()]
        return existing.choose(self, found, own_name=not self.properties[self.NAME])

    def _namesakes(self) -> list[str]:
        """A workflow is named once in a project."""
        found = []
        with self.client_plugin().ignore_not_found:
            found.append(str(self.client().workflows.get(self._workflow_name()).name))
        return found

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> None:
        if prop_diff:
            after = json_snippet.properties(self.properties_schema, self.context)
            self.translate_properties(after)
            self.client().workflows.update(self.definition_of(after))

    def handle_delete(self) -> object:
        """Delete the executions, then the workflow, then its user."""
        for execution in self._executions():
            with self.client_plugin().ignore_not_found:
                self.client().executions.delete(execution)
        return super().handle_delete()

    def needs_replace_failed(self) -> bool:
        if self.resource_id is None:
            return True
        is_gone = bool(self.client_plugin().not_found_in_call(self.client().workflows.get, self.resource_id))
        if is_gone:
            self.resource_id_set(None)
        return is_gone

    def get_reference_id(self) -> str:
        return self._workflow_name()

    # --- running it ---------------------------------------------------------------------------------------

    def _executions(self) -> list[str]:
        """Return their ids, newest first. Stored is a JSON list, oldest first; by Heat, ids and commas."""
        stored = self.data().get('executions') or ''
        return list(reversed(json.loads(stored))) if stored.startswith('[') else list(filter(None, stored.split(',')))

    def handle_signal(self, details: Values | None = None) -> None:
        given = dict(details or {})
        inputs = dict(self.properties[self.INPUT] or {})
        params = dict(self.properties[self.PARAMS] or {})
        if self.properties[self.USE_BODY]:
            inputs.update(given)
        else:
            inputs.update(given.get('input') or {})
            params.update(given.get('params') or {})
        unknown = set(inputs) - set(self.properties[self.INPUT] or {})
        if unknown:
            raise exception.Error(_('Workflow inputs %(unknown)s are not among %(known)s.') % {
                'unknown': ', '.join(sorted(unknown)), 'known': ', '.join(self.properties[self.INPUT] or ())})
        made = self.client().executions.create(
            workflow_name=self._workflow_name(), input=json.dumps(inputs), params=json.dumps(params))
        self.data_set('executions', json.dumps([*reversed(self._executions()), made.id]))

    def _resolve_attribute(self, name: str) -> object:
        match name:
            case self.EXECUTIONS if self.resource_id is not None:
                return [self._execution(each) for each in self._executions()]
            case self.WORKFLOW_DATA if self.resource_id is not None:
                return {self.NAME: self.resource_id, self.INPUT: self.properties.get(self.INPUT)}
            case self.ALARM_URL if self.resource_id is not None:
                return self._get_ec2_signed_url(never_expire=True)
        return None

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        """The service keeps the text that was made of the properties, not the properties."""
        return {}

    def _execution(self, execution_id: str) -> dict[str, object]:
        found = self.client().executions.get(execution_id)
        return {'id': found.id, 'workflow_name': found.workflow_name, 'created_at': found.created_at,
                'updated_at': found.updated_at, 'state': found.state, 'input': _map(found.input),
                'output': _map(getattr(found, 'output', None))}


def _map(value: object) -> object:
    """The service gives maps as JSON texts."""
    return json.loads(value) if isinstance(value, str) and value else value


def _dashed(body: Mapping[str, object]) -> dict[str, object]:
    return {name.replace('_', '-'): value for name, value in body.items() if value is not None}


def _has_policy(properties: Properties, tasks: str, name: str) -> bool:
    given = properties.resolved_data().get(tasks)
    return isinstance(given, list) and any(isinstance(task, Mapping) and isinstance(task.get('policies'), Mapping)
                                           and task['policies'].get(name) is not None for task in given)


def resource_mapping() -> dict[str, type[Workflow]]:
    return {TYPE: Workflow}
