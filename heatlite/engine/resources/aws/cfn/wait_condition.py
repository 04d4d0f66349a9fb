"""AWS::CloudFormation::WaitCondition.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heatlite.common import identifier
from heatlite.common.i18n import _
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import wait_condition

if TYPE_CHECKING:
    from heatlite.engine.resources.openstack.heat.wait_condition import WaitedSignals

NAME = 'AWS::CloudFormation::WaitCondition'


class WaitCondition(wait_condition.HeatWaitCondition):
    """Waits until its handle, given by its URL, has received a number of signals."""

    PROPERTIES = (HANDLE, TIMEOUT, COUNT) = ('Handle', 'Timeout', 'Count')
    ATTRIBUTES = (DATA,) = ('Data',)

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def _validate_handle_url(self) -> None:
        """Raise ValueError for an address of another stack."""
        address = self.properties[self.HANDLE]
        try:
            named = identifier.HeatIdentifier.from_arn_url(address)
        except ValueError:
            raise ValueError(_('WaitCondition invalid Handle %s') % address) from None
        own = self.stack.identifier()
        for mine, theirs, what in ((own.tenant, named.tenant, 'tenant'), (own.stack_name, named.stack_name, 'stack'),
                                   (own.stack_id, named.stack_id, 'stack')):
            if mine != theirs:
                raise ValueError(_('WaitCondition invalid Handle %(what)s %(theirs)s')
                                 % {'what': what, 'theirs': theirs})

    def _get_handle_resource(self) -> Any:
        try:
            named = identifier.HeatIdentifier.from_arn_url(self.properties[self.HANDLE])
        except ValueError:
            return None
        return self.stack.get(named.path.rpartition('/')[2])

    def handle_create(self) -> WaitedSignals:
        self._validate_handle_url()
        return super().handle_create()


def resource_mapping() -> dict[str, type[WaitCondition]]:
    return {NAME: WaitCondition}
