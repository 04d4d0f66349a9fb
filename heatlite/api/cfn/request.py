"""A request of the CloudFormation API: its parameters, and the stack it names."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from heatlite.api import finding, wsgi
from heatlite.api.aws import parameters
from heatlite.api.aws.errors import AwsError
from heatlite.api.aws.parameters import Tree
from heatlite.common.identifier import HeatIdentifier
from heatlite.db.stack_lists import Summary
from heatlite.db.stacks import Identity, StoredStack


class CfnRequest(wsgi.Request):
    @property
    def parameters(self) -> Mapping[str, str]:
        return parameters.read(self.environ)

    def required(self, name: str) -> str:
        """Return the value of a parameter. Raises MissingParameter."""
        value = self.parameters.get(name)
        if not value:
            raise AwsError('MissingParameter', name)
        return value

    def stack(self, tx: Connection) -> Identity:
        """Return the stack of StackName: a name, or an ARN, which also finds deleted stacks."""
        name = self.required('StackName')
        if name[:4].lower() != 'arn:':
            return finding.stack_by_name_or_id(self, tx, name)
        identity = identity_of(name)
        return finding.stack(self, tx, identity.stack_name, identity.stack_id)

    def live_stack(self, tx: Connection) -> Identity:
        found = self.stack(tx)
        if found.deleted_at is not None:
            raise finding.unknown(found.name)
        return found

    def is_true(self, name: str) -> bool:
        return self.parameters.get(name, '').lower() == 'true'

    def values(self, prefix: str) -> list[str]:
        """Return the values `PREFIX.member.N`, in the order of N."""
        return [each for each in self._members(prefix) if isinstance(each, str)]

    def pairs(self, prefix: str, key: str, value: str) -> dict[str, str]:
        """Map `PREFIX.member.N.KEY` to `PREFIX.member.N.VALUE`, in the order of N."""
        return {each[key]: each.get(value, '') for each in self.records(prefix) if key in each}

    def records(self, prefix: str) -> list[dict[str, str]]:
        """All `PREFIX.member.N.*` of one N as a map, in the order of N."""
        return [{name: text for name, text in each.items() if isinstance(text, str)}
                for each in self._members(prefix) if isinstance(each, dict)]

    def _members(self, prefix: str) -> list[Tree | str]:
        return parameters.members(parameters.tree(self.parameters).get(prefix))


def identity_of(arn: str) -> HeatIdentifier:
    """Parse an ARN. Raises InvalidParameterValue."""
    try:
        return HeatIdentifier.from_arn(arn)
    except ValueError as error:
        raise AwsError('InvalidParameterValue', str(error)) from None


def tenant_of(text: str) -> str | None:
    """Return the project in an ARN; None for other texts."""
    try:
        return HeatIdentifier.from_arn(text).tenant
    except ValueError:
        return None


def arn_of(stack: Identity | StoredStack | Summary) -> str:
    """Return the ARN of a stack's row."""
    return HeatIdentifier(stack.project_id, stack.name, stack.id).arn()
