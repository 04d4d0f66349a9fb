"""Completes requests with files that are objects of a container in the object storage.

Source: docs/spec/rest.rst, "Request bodies".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from keystoneauth1 import exceptions as services

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_FILES
from heatlite.common.runtime import Runtime
from heatlite.engine import clients
from heatlite.rpc import messages

if TYPE_CHECKING:
    from heatlite.engine.clients.os.swift import SwiftClientPlugin


class ContainerFiles:
    """Reads the container that a request names, in the thread of the request, with the rights of its caller."""

    def __init__(self, runtime: Runtime, most_bytes: int) -> None:
        """`most_bytes`: of all files of one request, in UTF-8; option max_json_body_size."""
        self._runtime = runtime
        self._most_bytes = most_bytes

    def complete(self, context: RequestContext, message: messages.Message) -> messages.Message:
        """Return the message without its container, with the files that are only there; a message that names none as it
        is. One that is stored, of a plan, has all of its files then.

        Raises NotFound without the container, HTTPBadRequest without an object storage, DownloadLimitExceeded,
        TooLate, and what the service answers."""
        if not isinstance(message, messages.Source) or not message.files_container:
            return message
        try:
            found = self._read(context, message.files_container, message.files)
        except services.NotFound as error:
            raise exception.NotFound(_('The files of container %s cannot be read: the object storage has no such '
                                       'container, or no longer one of its objects.') % message.files_container
                                     ) from error
        except services.EndpointNotFound as error:
            raise exception.HTTPBadRequest(
                _('The files of container %s cannot be read: the cloud has no object storage.')
                % message.files_container) from error
        return replace(message, files={**found, **message.files}, files_container=None)

    def _read(self, context: RequestContext, container: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return the objects that are not among the given files: one request for each, and one for a thousand names."""
        plugin: SwiftClientPlugin = clients.of(context).client_plugin('swift')
        room = self._most_bytes - sum(len(text.encode()) for text in given.values())
        sizes: dict[str, int] = {}
        for entry in plugin.listed(container):
            if entry['name'] not in given:
                sizes[entry['name']] = entry['bytes']
                if len(given) + len(sizes) > MOST_FILES:
                    raise exception.DownloadLimitExceeded(message=_(
                        'The request and container %(container)s have more than %(limit)d files.') % {
                            'container': container, 'limit': MOST_FILES})
        self._check_size(sum(sizes.values()), room, container)      # before anything is read; objects change meanwhile
        found: dict[str, str] = {}
        size = 0
        for name in sizes:
            context.check_in_time(self._runtime.now())
            found[name] = plugin.text(container, name)
            size += len(found[name].encode())
            self._check_size(size, room, container)
        return found

    def _check_size(self, size: int, room: int, container: str) -> None:
        if size > room:
            raise exception.DownloadLimitExceeded(message=_(
                'The files of the request and those of container %(container)s have more than %(limit)d bytes '
                '(option max_json_body_size).') % {'container': container, 'limit': self._most_bytes})
