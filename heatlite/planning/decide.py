"""What must happen to one resource, with the reason. Values in, one decision out."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.planning import text
from heatlite.planning.states import ResourceState, Status


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the type says of the way from the stored definition to the wanted one.

    Found by the engine, which asks the type in the order of the plug-in contract (engine specification 3.4).
    """

    changed: bool = False               # anything at all differs
    replace: str | None = None          # why only a new one will do, else None
    announced: bool = False             # the replacement is found out in an update that has begun
    refused: str | None = None          # failure text when the change is not allowed
    why_refused: str = ''               # for the history of the resource
    changed_properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Create:
    reason: str = ''


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do. `heal`: it had failed, and neither an update nor a new one is called for."""

    heal: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replace:
    because: str
    announced: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """The change is not allowed: the resource stays as it is, the action fails with `reason`."""

    reason: str
    why: str


Decision = Create | Keep | Update | Replace | Refuse


def decide(prior: ResourceState | None, verdict: Verdict) -> Decision:
    """What must happen to one resource now that its inputs are known. Same input, same answer."""
    if prior is None or not prior.exists:
        return Create()
    if verdict.refused is not None:
        return Refuse(verdict.refused, verdict.why_refused)
    if verdict.replace is not None:
        return Replace(verdict.replace, verdict.announced)
    if not verdict.changed:
        return Keep(heal=prior.status is not Status.COMPLETE)
    return Update(verdict.changed_properties)


HEALED = text.HEALED
