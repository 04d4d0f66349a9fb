"""Use cases of values that only code of resource types can compute: outputs, and attributes that are never cached."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from heatlite.common import exception, policy
from heatlite.common.context import RequestContext
from heatlite.db import codec
from heatlite.engine import attributes
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.stack_reader import StackReader
from heatlite.engine.resource import Resource
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)


class LiveValues:
    """Serves questions about values, in threads of requests."""

    def __init__(self, reader: StackReader) -> None:
        self._reader = reader

    def outputs(self, context: RequestContext, message: messages.ResolveOutputs) -> list[dict[str, object]]:
        """Return the outputs with the wanted keys, resolved now. Raises EntityNotFound."""
        return self._reader.outputs(message.stack_id, context, message.keys)

    def attributes(self, context: RequestContext, message: messages.ResourceAttributes) -> dict[str, object] | None:
        """Read the value of `show` if the type has it, else all attributes; and those in `names`. Calls services.

        A value is null if the resource does not have it, if it cannot be read now, or if the caller may not see it.
        None if the resource is to be deleted, with its stack or by an update: only stored values are known.
        """
        def ask(stack: Stack) -> dict[str, object] | None:
            resource = stack.get(message.resource_name)
            if resource is None:
                return None

            def read(name: str) -> object:
                return None if message.without_access and policy.gives_access(name) else _or_null(resource, name)

            shown = read(attributes.SHOW_ATTR) if attributes.SHOW_ATTR in resource.attributes else None
            if not isinstance(shown, Mapping):
                shown = {name: read(name) for name in resource.attributes if name != attributes.SHOW_ATTR}
            named = {name: read(name) for name in message.names}
            return {**named, **shown, **{name: value for name, value in named.items() if value is not None}}

        found: dict[str, object] | None = codec.decode(codec.encode(self._reader.asked(
            message.stack_id, context, ask, message.resource_name)))
        return found


def _or_null(resource: Resource, attribute: str) -> object:
    try:
        return resource.live_attribute(attribute)
    except exception.DatabaseUnavailable:
        raise
    except Exception as error:
        LOG.info('Attribute %s of %s cannot be read: %s', attribute, resource.name, error)
        return None
