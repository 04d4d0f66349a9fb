"""OS::Mistral::ExternalResource: an object that only workflows know how to make.

Schema: heatlite/engine/resources/catalogue/mistral.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.properties import Properties, PropertyDiff
from heatlite.engine.resources import catalogue, existing
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

if TYPE_CHECKING:
    from heatlite.engine.resource_update import Updates

TYPE = 'OS::Mistral::ExternalResource'
OUTPUTS, RESOURCE_ID, FORMER_OUTPUTS = 'outputs', 'resource_id', 'heat_extresource_data'
BUSY, GOOD, BAD = ('IDLE', 'RUNNING', 'PAUSED'), ('SUCCESS',), ('ERROR', 'CANCELLED')


class MistralExternalResource(resource.Resource):
    """For each action a workflow is run. What it says may name the thing: `resource_id` in its output.

    Later workflows find the outputs of the former ones in their environment, as `heat_extresource_data`.
    """

    default_client_name = 'mistral'
    entity = 'executions'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (EX_ACTIONS, INPUT, DESCRIPTION, REPLACE_ON_CHANGE, ALWAYS_UPDATE) = (
        'actions', 'input', 'description', 'replace_on_change_inputs', 'always_update')
    ATTRIBUTES = (OUTPUT,) = ('output',)

    def _run(self, action: str) -> str | None:
        """The id of the execution; None when the action has no workflow."""
        wanted = self.properties[self.EX_ACTIONS].get(action)
        if not wanted:
            return None
        given, params = dict(self.properties[self.INPUT] or {}), dict(wanted.get('params') or {})
        if action != self.CREATE and self.resource_id is not None:
            params['env'] = {**(params.get('env') or {}), FORMER_OUTPUTS: self._outputs()}
            if self._has_input(wanted['workflow'], RESOURCE_ID):
                given[RESOURCE_ID] = self.resource_id
        made = self.client().executions.create(
            workflow_name=wanted['workflow'], input=json.dumps(given), params=json.dumps(params),
            description=f'{self.properties[self.DESCRIPTION]} {self.uuid} {action}')
        return str(made.id)

    def _has_input(self, workflow: str, name: str) -> bool:
        """Whether the workflow declares the input. The service refuses inputs that are not declared."""
        declared = str(self.client().workflows.get(workflow).input or '')       # 'first, second=its default'
        return any(each.partition('=')[0].strip() == name for each in declared.split(','))

    def _outputs(self) -> dict[str, object]:
        """Return the outputs of the workflows of all actions so far."""
        return dict(json.loads(self.data().get(OUTPUTS) or '{}'))

    def find_existing(self) -> None:
        """Raise Error if a workflow was run: it is not known what it has done."""
        if any(str(self.uuid) in (each.description or '') for each in self.client().executions.list()):
            raise existing.ambiguous()

    def get_live_resource_data(self) -> None:
        """Return None: only workflows could read the object that they have made."""

    def _is_over(self, action: str, execution_id: str | None) -> bool:
        """Raise Error when it failed."""
        if execution_id is None:
            return True
        execution = self.client().executions.get(execution_id)
        if execution.state in BUSY:
            return False
        if execution.state in BAD:
            raise exception.Error(_('ExternalResource %(action)s failed: workflow execution %(id)s is %(state)s: '
                                    '%(info)s') % {'action': action, 'id': execution_id, 'state': execution.state,
                                                   'info': execution.state_info})
        if execution.state not in GOOD:
            raise exception.ResourceUnknownStatus(resource_status=execution.state, result=_('Mistral execution is in '
                                                                                            'unknown state.'))
        output = execution.output
        found = json.loads(output) if isinstance(output, str) and output else output or {}
        if action != self.DELETE:
            self.data_set(OUTPUTS, json.dumps({**self._outputs(), **found}))
            if found.get(RESOURCE_ID) is not None or self.resource_id is None:
                self.resource_id_set(str(found.get(RESOURCE_ID) or execution_id))
        return True

    def handle_create(self) -> str | None:
        execution_id = self._run(self.CREATE)
        if execution_id is None:
            self.resource_id_set(self.physical_resource_name())
        return execution_id

    def check_create_complete(self, execution_id: str | None) -> bool:
        return self._is_over(self.CREATE, execution_id)

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: PropertyDiff) -> str | None:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        return self._run(self.UPDATE)

    def check_update_complete(self, execution_id: str | None) -> bool:
        return self._is_over(self.UPDATE, execution_id)

    def handle_suspend(self) -> str | None:
        return self._run(self.SUSPEND)

    def check_suspend_complete(self, execution_id: str | None) -> bool:
        return self._is_over(self.SUSPEND, execution_id)

    def handle_resume(self) -> str | None:
        return self._run(self.RESUME)

    def check_resume_complete(self, execution_id: str | None) -> bool:
        return self._is_over(self.RESUME, execution_id)

    def handle_delete(self) -> str | None:
        return self._run(self.DELETE)

    def check_delete_complete(self, execution_id: str | None) -> bool:
        return self._is_over(self.DELETE, execution_id)

    def _needs_update(self, after: ResourceDefinition, before: ResourceDefinition, after_props: Properties,
                      before_props: Properties, prev_resource: Updates, check_init_complete: bool = True) -> bool:
        """Some inputs, when they change, mean another thing. `always_update`: even when nothing changed."""
        old, new = before_props.get(self.INPUT) or {}, after_props.get(self.INPUT) or {}
        for name in after_props.get(self.REPLACE_ON_CHANGE) or ():
            if old.get(name) != new.get(name):
                raise exception.UpdateReplace(str(self))
        if self.properties[self.ALWAYS_UPDATE]:
            return True
        return super()._needs_update(after, before, after_props, before_props, prev_resource, check_init_complete)

    def _resolve_attribute(self, name: str) -> object:
        return self._outputs() if name == self.OUTPUT else None

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        """An execution is over once it was made: its fields are not the template's."""
        return {}


def resource_mapping() -> dict[str, type[MistralExternalResource]]:
    return {TYPE: MistralExternalResource}
