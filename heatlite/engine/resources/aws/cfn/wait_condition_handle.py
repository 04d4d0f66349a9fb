"""AWS::CloudFormation::WaitConditionHandle.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from heatlite.engine.resources import catalogue, signal_responder, wait_condition

NAME = 'AWS::CloudFormation::WaitConditionHandle'


class WaitConditionHandle(wait_condition.BaseWaitConditionHandle):
    """Receives signals for a wait condition. Its reference is the signed URL for signals."""

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def handle_create(self) -> None:
        super().handle_create()
        self._get_ec2_signed_url(signal_type=signal_responder.WAITCONDITION)
        self.resource_id_set(self._get_user_id())

    def handle_signal(self, details: object = None) -> str:
        return super().handle_signal(details)

    def get_reference_id(self) -> str:
        """Return the signed URL for signals; in a cloud without identity, the ARN and the id of the handle."""
        if self.resource_id is None:
            return str(self.name)
        signed = self._get_ec2_signed_url(signal_type=signal_responder.WAITCONDITION)
        return signed or f'{self.identifier().arn()}?{self.resource_id}'

    def metadata_update(self, new_metadata: object = None) -> None:
        """Do nothing: the metadata are the data of signals, which an update of the template must not replace."""


def resource_mapping() -> dict[str, type[WaitConditionHandle]]:
    return {NAME: WaitConditionHandle}
