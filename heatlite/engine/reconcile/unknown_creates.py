"""Creates whose result is unknown: looks for the object that a call without an answer may have made."""

from __future__ import annotations

import logging
from collections.abc import Callable

from heatlite.common import defects, exception
from heatlite.engine.reconcile.facade import was_begun_before
from heatlite.engine.reconcile.imports import Holders
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.service_errors import is_away
from heatlite.engine.resource import Resource
from heatlite.planning import commands, identities, text
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)


class RowReplaced(Exception):
    """The former site of a restored stack had replaced the row of the resource after the backup."""


def create(leased: LeasedStack, resource: Resource, handler: Callable[[], object], is_again: bool,
           holders: Holders, is_target: bool) -> object:
    """Call handle_create and return its handle. If it fails without an id, look for an object that it may have
    created. `is_again`: an earlier call has failed; `is_target`: the resource is created as the present request wants
    it, not as one before. In a restored stack, an object that was made after the backup is taken over instead.

    Raises RowReplaced if that object belongs to the row which replaces that of the resource.
    """
    try:
        if leased.row.restored_from is not None and not is_again and _was_made(leased, resource, holders, is_target):
            return None
        if is_again and resource.resource_id is None and hasattr(resource, 'find_existing'):
            found = resource.find_existing()        # raises while the service does not answer
            if found is not None:
                resource.resource_id_set(str(found))
                return None
        return handler()
    except (exception.DatabaseUnavailable, RowReplaced):
        raise
    except Exception as error:
        if is_away(error):
            raise
        if resource.resource_id is None and find(leased, resource):
            LOG.info('%s of stack %s was made although its creation failed: %s', resource.name, leased.id, error)
            return None
        raise


def _was_made(leased: LeasedStack, resource: Resource, holders: Holders, is_target: bool) -> bool:
    """Look for an object made between the backup and the restore, and store its id. Returns whether there is one.

    Raises Error if that is unknown of a resource of an action that the backup interrupted. A later request is one whose
    author knows the state of the cloud: it creates what is not found. Raises RowReplaced as `create` does.
    """
    if resource.resource_id is not None or resource.idempotent_create:
        return False
    is_resumed = was_begun_before(leased.row)
    if not hasattr(resource, 'find_existing'):
        if is_resumed:
            raise exception.Error(text.RESTORED)
        return False
    existing = _existing(leased, resource, must_know=is_resumed)
    if is_resumed and is_target and _is_replaced(leased, resource, resource.find_existing, existing):
        LOG.info('%s of stack %s was replaced after the backup', resource.name, leased.id)
        raise RowReplaced(resource.name)
    if existing is None or any(
            holder.type == resource.type() and (holder.stack_id, holder.id) != (leased.id, resource.id)
            for holder in holders(str(existing))):
        return False
    LOG.info('%s of stack %s was made after the backup: %s', resource.name, leased.id, existing)
    resource.resource_id_set(str(existing))
    return True


def _existing(leased: LeasedStack, resource: Resource, must_know: bool) -> object:
    """Return the id of the resource's object, or None if there is none or its type cannot look for one.

    Raises the error of a service that is away. Other errors of the search are logged and mean None, unless `must_know`.
    """
    if not hasattr(resource, 'find_existing'):
        return None
    try:
        return resource.find_existing()
    except exception.DatabaseUnavailable:
        raise
    except Exception as error:
        if is_away(error) or must_know:
            raise
        defects.log(LOG, error, 'Whether %s of stack %s has an object is unknown', resource.name, leased.id)
        return None


def _is_replaced(leased: LeasedStack, resource: Resource, find_existing: Callable[[], object], own: object) -> bool:
    """Whether there is an object of the row that replaces the resource's for the present request.

    `find_existing`: of the resource; `own`: what it has found.

    In the backup the row waits to be created. The engine was still at work on a former request then, and made an object
    that the present request had to replace. The name of the new object comes from the ids of both rows.
    """
    uuid = str(resource.uuid)
    resource.uuid = identities.of_row(leased.id, leased.row.generation, resource.name, uuid)
    try:
        found = find_existing()
    finally:
        resource.uuid = uuid
    return found is not None and found != own       # a name from the template is that of both


def find(leased: LeasedStack, resource: Resource) -> bool:
    """Look for an object of an interrupted or failed create, and store its id. Returns whether there is one.

    Ignores the object of another row: a replacement may have the same name. Raises the error of a service that is away:
    a delete that did not look would leave the object.
    """
    found = _existing(leased, resource, must_know=False)
    if found is None or any(row.physical_id == str(found) and row.type == resource.type()
                            for row in leased.rows.values() if row.id != resource.id):
        return False
    resource.resource_id_set(str(found))
    return True


def recover(step: Step, row: ResourceState, resource: Resource) -> commands.Recovered:
    """Find out the result of an interrupted call, for a row found in progress."""
    if row.action is not Action.CREATE or resource.idempotent_create:
        return commands.Recovered(step, commands.Outcome.RETRY)
    if hasattr(resource, 'find_existing'):          # its check needs the id only
        found = row.physical_id or resource.find_existing()
        return (commands.Recovered(step, commands.Outcome.FOUND, str(found)) if found else
                commands.Recovered(step, commands.Outcome.RETRY))
    if row.physical_id is not None:
        return commands.Recovered(step, commands.Outcome.RECREATE)
    return commands.Recovered(step, commands.Outcome.UNKNOWN)


def may_repeat(resource: Resource) -> bool:
    """Whether a create without an answer can be called again: it is idempotent, or its object would be found."""
    return resource.idempotent_create or (resource.resource_id is None and hasattr(resource, 'find_existing'))
