"""Decides what must happen to one resource, and why. A pure function of values."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import ResourceState, Status


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a resource type about the change from the stored definition to the wanted one.

    The engine obtains it in the order of docs/spec/engine.rst, "Deciding about an update".
    """

    changed: bool = False               # the definitions differ
    replace: str | None = None          # why a replacement is required, else None
    announced: bool = False             # the history shows an update that ended in the replacement
    refused: str | None = None          # failure text if the change is not allowed
    why_refused: str = ''               # for the history of the resource
    visits: bool = False                # the definitions are equal, and only the nested stack is to be looked at
    cause: ReplacementCause | None = None       # of a replacement that no changed property requires


@dataclass(frozen=True, slots=True)
class Create:
    pass


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do. `heal`: the resource had failed, and needs neither an update nor a replacement."""

    heal: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """`visits`: nothing of the resource itself changes; its nested stack decides what changes in it."""

    visits: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    because: str
    announced: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """The change is not allowed: the resource stays unchanged, the action fails with `reason`."""

    reason: str
    why: str


Decision = Create | Keep | Update | Replace | Refuse


def decide(prior: ResourceState | None, verdict: Verdict) -> Decision:
    """Decide what must happen to one resource now that its inputs are known. Deterministic."""
    if prior is None or not prior.exists:
        return Create()
    if verdict.refused is not None:
        return Refuse(verdict.refused, verdict.why_refused)
    if verdict.replace is not None:
        return Replace(verdict.replace, verdict.announced)
    if not verdict.changed:
        return Keep(heal=prior.status is not Status.COMPLETE)
    return Update(verdict.visits)
