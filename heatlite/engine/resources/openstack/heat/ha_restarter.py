"""OS::Heat::HARestarter.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue, signal_responder
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff

LOG = log.getLogger(__name__)
NAME = 'OS::Heat::HARestarter'
ALARM: Final = 'alarm'                      # the state for which something is done


class Restarter(signal_responder.SignalResponder):
    """Replaces a resource of its stack, such as a server that does not answer any more, whenever it is signalled.

    The resource is marked as unhealthy, and an update of the stack to its present definition begins, which replaces it
    and updates what refers to it. Heat had this until its release 9.
    """

    looks_up_others = True

    PROPERTIES = (INSTANCE_ID,) = ('InstanceId',)
    ATTRIBUTES = (ALARM_URL,) = ('AlarmUrl',)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def handle_create(self) -> None:
        super().handle_create()
        self._get_ec2_signed_url(never_expire=True)
        self.resource_id_set(self._get_user_id())

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        """The new property counts from the next signal on."""

    def handle_signal(self, details: object = None) -> None:
        """Return when the update has begun. Raises NotFound without such a resource.

        Raises NoActionRequired for another state than "alarm", while the stack has an action in progress, and for a
        signal from before the resource was made: it was handled already, or meant the one that was replaced.
        """
        given = details if isinstance(details, Mapping) else {}
        state = str(given.get('current', given.get('state', ALARM))).lower()
        if state != ALARM:
            raise exception.NoActionRequired(self.name, f'the state is "{state}"')
        wanted = self.properties[self.INSTANCE_ID]
        name = self.stack.name_by_refid(wanted)
        if name is None:
            raise exception.NotFound(_('%(restarter)s could not find a resource with the reference "%(wanted)s"')
                                     % {'restarter': self.name, 'wanted': wanted})
        made = self.stack[name].created_time
        if self.signalled_at is not None and made is not None and made > self.signalled_at:
            raise exception.NoActionRequired(self.name, f'{name} was replaced since')
        LOG.info('%s replaces %s', self.name, name)
        try:
            self.stack.restart_resource(name, _('%s was signalled') % self.name)
        except exception.ActionInProgress as error:
            raise exception.NoActionRequired(self.name, str(error)) from None

    def _resolve_attribute(self, name: str) -> str | None:
        if self.resource_id is None or name != self.ALARM_URL:
            return None
        # Without an identity service no request has a signature.
        return self._get_ec2_signed_url(never_expire=True) or self._get_heat_signal_url()


def resource_mapping() -> dict[str, type[Restarter]]:
    return {NAME: Restarter}
