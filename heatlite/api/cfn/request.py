"""A request of the CloudFormation API: its parameters, and the stack it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection

from heatlite.api import finding, wsgi
from heatlite.api.cfn import envelope
from heatlite.api.cfn.errors import CfnError
from heatlite.common.identifier import HeatIdentifier
from heatlite.db.stacks import Identity, Stack, Summary


class CfnRequest(wsgi.Request):
    @property
    def parameters(self) -> Mapping[str, str]:
        return envelope.parameters(self.environ)

    def required(self, name: str) -> str:
        """The value of a parameter. Raises MissingParameter."""
        value = self.parameters.get(name)
        if not value:
            raise CfnError('MissingParameter', name)
        return value

    def stack(self, tx: Connection) -> Identity:
        """The stack of StackName: a name, or an ARN, which also finds deleted stacks."""
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
        """The values `PREFIX.member.N`, in the order of N."""
        pattern = re.compile(rf'{re.escape(prefix)}\.member\.([0-9]{{1,9}})')
        found = {int(match[1]): text for parameter, text in self.parameters.items()
                 if (match := pattern.fullmatch(parameter))}
        return [text for _number, text in sorted(found.items())]

    def pairs(self, prefix: str, key: str, value: str) -> dict[str, str]:
        """Maps `PREFIX.member.N.KEY` to `PREFIX.member.N.VALUE`, in the order of N."""
        return {each[key]: each.get(value, '') for each in self.records(prefix) if key in each}

    def records(self, prefix: str) -> list[dict[str, str]]:
        """All `PREFIX.member.N.*` of one N as a map, in the order of N."""
        found: dict[int, dict[str, str]] = {}
        for number, name, text in self._members(prefix):
            found.setdefault(number, {})[name] = text
        return [each for _number, each in sorted(found.items())]

    def _members(self, prefix: str) -> Iterator[tuple[int, str, str]]:
        pattern = re.compile(rf'{re.escape(prefix)}\.member\.([0-9]{{1,9}})\.(\w+)')
        for parameter, text in self.parameters.items():
            if found := pattern.fullmatch(parameter):
                yield int(found[1]), found[2], text


def identity_of(arn: str) -> HeatIdentifier:
    """Parses an ARN. Raises InvalidParameterValue."""
    try:
        return HeatIdentifier.from_arn(arn)
    except ValueError as error:
        raise CfnError('InvalidParameterValue', str(error)) from None


def arn_of(stack: Identity | Stack | Summary) -> str:
    """The ARN of a stack's row."""
    return HeatIdentifier(stack.project_id, stack.name, stack.id).arn()


