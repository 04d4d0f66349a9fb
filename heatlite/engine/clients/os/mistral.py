"""Workflows (Mistral)."""

from __future__ import annotations

from functools import cached_property

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'mistral'


class Workflows(collection.Collection):
    path, plural = '/workflows', 'workflows'

    def create(self, definition: str, **params: object) -> list[collection.Entity]:
        answer = self.http.post(self.path, data=definition, headers={'Content-Type': 'text/plain'}, params=params)
        return [collection.Entity(self, entry) for entry in answer.json()['workflows']]

    def update(self, definition: str, **params: object) -> list[collection.Entity]:      # type: ignore[override]
        answer = self.http.put(self.path, data=definition, headers={'Content-Type': 'text/plain'}, params=params)
        return [collection.Entity(self, entry) for entry in answer.json()['workflows']]


class WorkflowClient(collection.Client):
    workflows = cached_property(Workflows)
    executions = cached_property(collection.plain('/executions', None, 'executions'))
    cron_triggers = cached_property(collection.plain('/cron_triggers', None, 'cron_triggers'))


class MistralClientPlugin(service.ServicePlugin[WorkflowClient]):
    option_group = CLIENT_NAME
    service_types = [WORKFLOW, WORKFLOW_V2] = ['workflow', 'workflowv2']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = WorkflowClient

    def _service_type(self) -> str:
        return self.service_types[0]

    def get_workflow_by_identifier(self, workflow_identifier: str) -> collection.Entity:
        """Return a workflow. Raises EntityNotFound."""
        try:
            return self.client().workflows.get(workflow_identifier)
        except Exception as error:
            if self.is_not_found(error):
                raise exception.EntityNotFound(entity='Workflow', name=workflow_identifier) from error
            raise


class WorkflowConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_workflow_by_identifier'
