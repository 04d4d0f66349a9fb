"""Fetches results of software deployments outside stacks from where servers leave them: an object in Swift, or a queue.

A resource of a stack fetches that of its deployment itself, while its stack is driven.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from heatlite.common import document_size, exception
from heatlite.common.context import RequestContext
from heatlite.engine import clients
from heatlite.engine.requests.software import Software
from heatlite.rpc import messages, software
from heatlite.rpc.software import ShownDeployment

if TYPE_CHECKING:
    from heatlite.engine.clients.os.swift import SwiftClientPlugin

LOG = logging.getLogger(__name__)


class DeploymentResults:
    """Serves requests in their threads, in the name of the caller, who must be of the deployment's project."""

    def __init__(self, stored: Software) -> None:
        self._stored = stored

    def collect(self, context: RequestContext, message: messages.CollectDeployment) -> None:
        """Store the result of a deployment that waits for it, if it is there. Raises NotFound, and what services raise.

        An object is read before the result is stored, and removed afterwards. A queue gives its message only once: if
        it cannot be stored, the deployment goes on waiting. A result of a config that is no longer deployed is dropped.
        """
        deployment = self._stored.show_software_deployment(context, message.deployment_id)
        if deployment['status'] != 'IN_PROGRESS':
            return
        place = software.place_of_result(self._stored.show_software_config(context, deployment['config_id']))
        if place is None:
            return
        transport, name = place
        if transport == software.ZAQAR:
            self._from_queue(context, deployment, name)
        else:
            self._from_object(context, deployment, name)

    def _from_queue(self, context: RequestContext, deployment: ShownDeployment, name: str) -> None:
        for each in clients.of(context).client('zaqar').queue(name).pop():
            try:
                details = document_size.check_text(each.body)
            except exception.HTTPBadRequest as error:
                LOG.warning('The result of deployment %s is no JSON: %s', deployment['id'], error)
                continue
            self._stored.signal_software_deployment(context, deployment['id'], details, deployment['config_id'])

    def _from_object(self, context: RequestContext, deployment: ShownDeployment, url: str) -> None:
        plugin: SwiftClientPlugin = clients.of(context).client_plugin('swift')
        path = urlsplit(url).path
        if not plugin.is_valid_temp_url_path(path):
            return
        container, name = (unquote(part) for part in path.split('/', 4)[3:])
        for signal in plugin.signals(container, name, with_versions=False):
            if not signal.content.strip():          # as its client has made it
                continue
            try:
                details = signal.details()
            except ValueError:
                LOG.warning('The result of deployment %s is no JSON', deployment['id'])
                continue
            self._stored.signal_software_deployment(context, deployment['id'], details, deployment['config_id'])
            plugin.delete_versions(container, name)
