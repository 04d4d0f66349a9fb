"""Compares the objects of a stack, and of all stacks inside it, with the definitions last applied to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from heatlite.common import exception, log_throttle
from heatlite.common.i18n import _
from heatlite.engine.reconcile import diff
from heatlite.engine.resource import Resource
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.language.hiding import HIDDEN_TEXT
from heatlite.language.masking import NOTHING, Mask
from heatlite.planning import drift
from heatlite.planning.drift import DriftFinding, DriftPolicy, PropertyDrift, ResourceDrift
from heatlite.planning.states import Action, Status

if TYPE_CHECKING:
    from heatlite.engine.resource_stack import OwnStack

LOG = logging.getLogger(__name__)

WITHOUT_OBJECT = (Action.INIT, Action.DELETE)
RESTRICTED = {DriftPolicy.REPAIR: diff.UPDATE, DriftPolicy.REPLACE: diff.REPLACE}
LONGEST_REASON = 500                # characters


def compare(stack: OwnStack, may_go_on: Callable[[], None], path: tuple[str, ...] = (),
            above: Mask = NOTHING) -> Iterator[ResourceDrift]:
    """Yield what is found of each resource, in the order of the template; asks services one after the other.

    `may_go_on()` is called before each resource; what it raises ends the look. `above`: what is hidden in the stacks
    around. Errors of services are part of what is found.
    """
    mask = above | stack.defn.mask
    for name in stack:
        may_go_on()
        place = (*path, name)
        try:
            resource = stack[name]
        except exception.StackValidationFailed as error:        # its type is gone
            yield ResourceDrift(place, stack.defn.resources[name].type, DriftFinding.UNREADABLE,
                                reason=mask.text(str(error))[:LONGEST_REASON])
            continue
        if not isinstance(resource, StackResource):
            yield _resource(stack, resource, place, mask)
            continue
        yield _of(resource, place, DriftFinding.UNCOMPARED)
        nested = resource.nested() if resource.resource_id is not None else None
        if nested is not None:
            yield from compare(nested, may_go_on, place, mask)


def _resource(stack: OwnStack, resource: Resource, path: tuple[str, ...], mask: Mask) -> ResourceDrift:
    policy = DriftPolicy(stack.env.drift_policy(resource.name, resource.type()))
    if policy is DriftPolicy.IGNORE:
        return _of(resource, path, DriftFinding.IGNORED, policy=policy)
    if resource.resource_id is None or resource.action in WITHOUT_OBJECT or resource.status == Status.IN_PROGRESS:
        return _of(resource, path, DriftFinding.UNCOMPARED, policy=policy)
    restricted = stack.env.restricted_actions(resource.name)
    try:
        is_read, properties = _compared(resource, mask)
    except exception.DatabaseUnavailable:
        raise
    except exception.EntityNotFound:
        return _of(resource, path, DriftFinding.GONE, policy=policy, reason=_why_not(resource, [], policy, restricted))
    except Exception as error:
        log_throttle.log(LOG, logging.INFO, type(error).__name__, '%s cannot be compared with its definition: %s',
               resource, mask.text(str(error)))
        return _of(resource, path, DriftFinding.UNREADABLE, policy=policy,
                   reason=mask.text(str(error) or type(error).__name__)[:LONGEST_REASON])
    if not is_read or not properties:
        return _of(resource, path, DriftFinding.UNCOMPARED if not is_read else DriftFinding.SAME, policy=policy)
    return _of(resource, path, DriftFinding.CHANGED, policy=policy, properties=tuple(properties),
               reason=_why_not(resource, properties, policy, restricted))


def _compared(resource: Resource, mask: Mask) -> tuple[bool, list[PropertyDrift]]:
    """Return whether the service says anything of the object, and what differs. Raises EntityNotFound, and errors of
    services."""
    if resource.external_id is not None:            # of another one, who may change it: it only has to exist
        return resource.get_live_resource_data() is not None, []
    applied = resource.frozen_definition()
    comparison = resource.compare(applied)
    resource.observe(comparison)
    assert resource.observed is not None
    if not resource.observed.is_read:
        return False, []
    changed = diff.property_changes(resource, applied, resource.observed, comparison)
    return True, [each for name, change in changed.items() for found in drift.differences(
        name, change.old, change.live) for each in [_masked(found, mask)]]


def _masked(property_drift: PropertyDrift, mask: Mask) -> PropertyDrift:
    expected = mask(property_drift.expected)
    is_hidden = expected != property_drift.expected  # then what it was changed into is a secret, too
    return PropertyDrift(property_drift.path, expected, HIDDEN_TEXT if is_hidden else mask(property_drift.actual))


def _why_not(resource: Resource, properties: list[PropertyDrift], policy: DriftPolicy, restricted: list[str]) -> str:
    """Return why an update would not bring the object back; '' if it would."""
    if resource.external_id is not None:
        return _('The object does not belong to the stack.')
    action = RESTRICTED.get(policy)
    if action is not None and not properties and policy is DriftPolicy.REPAIR:
        action = diff.REPLACE                       # what is gone is replaced
    return _('%s is restricted.') % action if action in restricted else ''


def _of(resource: Resource, path: tuple[str, ...], finding: DriftFinding, policy: DriftPolicy = DriftPolicy.REPORT,
        properties: tuple[PropertyDrift, ...] = (), reason: str = '') -> ResourceDrift:
    return ResourceDrift(path, resource.type(), finding, policy, resource.resource_id, properties, reason,
                         place=(resource.stack.id, int(resource.id or 0)))
