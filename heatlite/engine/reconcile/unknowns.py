"""Finds out whether the verdict on a resource depends on values that are known only during the update. For previews.

The type is asked twice: with the unknown values taken as different from the stored ones, and as equal where that is
possible. If the answers differ, the verdict is uncertain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from heatlite.common.i18n import _
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.engine.rsrc_defn import ResourceDefinition
from heatlite.language.unknown import UNKNOWN, is_known
from heatlite.planning.decide import Verdict
from heatlite.planning.plan import PlanAction

# Methods by which a type decides from values; their results for unknown values cannot be predicted.
BY_VALUES = ('needs_replace', 'needs_replace_with_prop_diff', 'needs_replace_with_tmpl_diff', '_needs_update',
             'update_template_diff_properties')


@dataclass(frozen=True)
class Doubt:
    """Why a verdict is uncertain. `may_replace`: the resource may be replaced."""

    reason: str
    may_replace: bool


def find(resource_class: type[Resource], definition: ResourceDefinition, stored: ResourceDefinition, verdict: Verdict,
         ask: Callable[[ResourceDefinition], Verdict]) -> Doubt | None:
    """Return why `verdict` is uncertain; None if it holds for all values. `ask(definition)`: the verdict on another
    definition."""
    after, before = definition.freeze(), stored.freeze()
    unknown = unknown_properties(after)
    if not unknown and is_known(after.metadata()):
        return None
    reason = why(unknown)
    if _decides_by_values(resource_class):
        return Doubt(reason, True)
    given, kept = after['Properties'], before['Properties']
    assumed = {name: value for name, value in given.items() if name not in unknown or not may_equal(
        kept.get(name), value)}
    assumed |= {name: kept[name] for name in unknown if name not in assumed and name in kept}
    metadata = after.metadata() if not may_equal(before.metadata(), after.metadata()) else before.metadata()
    try:
        other = ask(definition.freeze(properties=assumed, metadata=metadata))
    except Exception:                               # raised by the type for the assumed values
        return Doubt(reason, True)
    outcomes = {_outcome(verdict), _outcome(other)}
    return Doubt(reason, PlanAction.REPLACE in outcomes) if len(outcomes) > 1 else None


def unknown_properties(definition: ResourceDefinition) -> list[str]:
    return [name for name, value in definition['Properties'].items() if not is_known(value)]


def why(names: list[str]) -> str:
    if not names:
        return _('Its metadata is known only when what it depends on is done')
    return _('Known only when what it depends on is done: %s') % ', '.join(sorted(names))


def may_equal(old: object, new: object) -> bool:
    """Whether `new`, with UNKNOWN in it, may turn out to be `old`."""
    if new is UNKNOWN:
        return True
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return new.keys() == old.keys() and all(may_equal(old[key], value) for key, value in new.items())
    if isinstance(new, list | tuple) and isinstance(old, list | tuple):
        return len(new) == len(old) and all(map(may_equal, old, new))
    return bool(old == new) or not is_known(new)    # an unknown key may have any value


def _decides_by_values(resource_class: type[Resource]) -> bool:
    if issubclass(resource_class, StackResource):  # updated, unless its nested stack is not visited
        return False
    return any(getattr(resource_class, name) is not getattr(Resource, name) for name in BY_VALUES)


def _outcome(verdict: Verdict) -> PlanAction | None:
    """Return what the verdict leads to; None if the update is refused."""
    if verdict.refused is not None:
        return None
    if verdict.replace is not None:
        return PlanAction.REPLACE
    return PlanAction.UPDATE if verdict.changed else PlanAction.NONE
