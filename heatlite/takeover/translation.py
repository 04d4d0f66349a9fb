"""Data that types of heatlite keep with a resource and those of Heat do not. All other keys are the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from heatlite.planning.states import Datum
from heatlite.takeover.convert import ConvertedResource

USER, ACCESS_KEY = 'AWS::IAM::User', 'AWS::IAM::AccessKey'
CREDENTIAL, OWNER, USER_ID = 'credential_id', 'owner', 'user_id'


def _owner(key: ConvertedResource, members: Sequence[ConvertedResource]) -> Iterator[Datum]:
    """Yield the user whose key it is: Heat keeps the newest key of each user with the user, too."""
    credential = _data(key).get(CREDENTIAL)
    users = [each for each in members if each.state.type == USER]
    named = [each for each in users if credential is not None and _data(each).get(CREDENTIAL) == credential]
    found = named or (users if len(users) == 1 else [])
    owner = _data(found[0]).get(USER_ID) or found[0].state.physical_id if found else None
    if credential is not None and owner is not None:
        yield Datum(OWNER, owner)


ADDED: Mapping[str, Callable[[ConvertedResource, Sequence[ConvertedResource]], Iterator[Datum]]] = {ACCESS_KEY: _owner}


def data(member: ConvertedResource, members: Sequence[ConvertedResource]) -> tuple[Datum, ...]:
    """Return the data of a resource for the type of heatlite. `members`: all resources of its stack."""
    add = ADDED.get(member.state.type)
    return member.data if add is None else (*member.data, *add(member, members))


def _data(member: ConvertedResource) -> dict[str, str | None]:
    return {datum.key: datum.value for datum in member.data}
