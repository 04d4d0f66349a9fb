"""Looks up the objects of a URL, within what the caller may see. Hidden objects are reported as missing."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TypeVar

from sqlalchemy import Connection

from heatlite.api import faults, links
from heatlite.api.wsgi import Request
from heatlite.common import exception, log_throttle
from heatlite.common.context import note
from heatlite.common.i18n import _
from heatlite.db import engines, resource_lists, stack_trees, stacks
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)
Row = TypeVar('Row', stacks.Identity, stacks.StoredStack)

_UUID = re.compile(r'[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z', re.I)


def stored_id(text: str) -> str:
    """Return the id of a stack as it is stored, in lower case, if the text is one in any case; else the text."""
    return text.lower() if _UUID.match(text) else text


def visible(req: Request, row: Row | None, stack_name: str) -> Row:
    """`row` itself. Raises EntityNotFound unless it has this name and the caller may see it.

    A caller belongs to the stack's project, or to the project of the users made inside the stack, or is admin. Requests
    of these users count for the stack's project from here on.
    """
    if row is None or row.name != stack_name or not _may_see(req, row) or not req.is_here(row.project_id):
        raise unknown(stack_name)
    note(stack_id=row.id, stack_name=row.name)
    if not req.context.is_admin:
        req.context.stack_project_id = row.project_id
    return row


def _may_see(req: Request, stack: stacks.Identity | stacks.StoredStack) -> bool:
    return req.context.may_see(stack.project_id, stack.user_project_id)


def listed_project(req: Request, everywhere: bool = False, rule: str = '') -> str | None:
    """Return the project whose objects a list shows; None: all projects.

    All lists call it: no other code widens their scope. Administrators see all projects. `everywhere`: the caller
    requests all projects, which the policy `rule` must allow, for administrators too. Raises Forbidden.

    Where there are several cells, a list of all projects is that of one cell, which the caller has to name: rows of all
    cells would be in no order. Administrators who name none see their own project. Raises HTTPBadRequest.
    """
    cells = req.services.cells
    is_named = cells is None or cells.chosen(req) is not None
    if everywhere:
        req.enforce(rule)
        if not is_named and cells is not None:
            raise exception.HTTPBadRequest(_(
                'There are several cells: name one in the header X-Heatlite-Cell. There are: %s.') % ', '.join(
                    each.name for each in cells.all))
        return None
    return None if req.context.is_admin and is_named else own_project(req)


def own_project(req: Request) -> str:
    """Return the caller's project. Raises Forbidden for a caller without one: None would mean all projects."""
    if not req.context.project_id:
        raise exception.HTTPForbidden(faults.FORBIDDEN)
    return req.context.project_id


def unknown(stack_name: str) -> exception.EntityNotFound:
    return exception.EntityNotFound(entity='Stack', name=stack_name)


def stack(req: Request, tx: Connection, stack_name: str, stack_id: str) -> stacks.Identity:
    """Return the stack of a URL, deleted ones included. One SELECT."""
    return visible(req, stacks.identity(tx, stack_id), stack_name)


def tree(req: Request, tx: Connection, stack_name: str, stack_id: str,
         depth: int) -> tuple[stacks.Identity, list[stacks.Identity]]:
    """As `stack`, and the live stacks at most `depth` levels below it. One SELECT for a root and for one level; two
    for others, and one for each level below them."""
    return _tree(req, tx, stack_name, stack_id, depth, *stack_trees.with_descendants(tx, stack_id, depth))


def tree_with_few(req: Request, tx: Connection, stack_name: str, stack_id: str, depth: int) -> tuple[
        stacks.Identity, list[stacks.Identity], list[resource_lists.ShownResource] | None]:
    """As `tree`, and the resources of a stack that has few; None: read resource_lists.page. The same SELECTs."""
    few = resource_lists.with_few(tx, stack_id, depth)
    if few is None:
        return *_tree(req, tx, stack_name, stack_id, depth, None, []), None
    top, below = _tree(req, tx, stack_name, stack_id, depth, few.stack, few.below)
    return top, below, few.rows()


def _tree(req: Request, tx: Connection, stack_name: str, stack_id: str, depth: int, found: stacks.Identity | None,
          below: list[stacks.Identity]) -> tuple[stacks.Identity, list[stacks.Identity]]:
    """Return the stack and those below it: what does not exist and what the caller may not see take the same
    statements."""
    if depth <= 1 or (found is not None and found.name == stack_name and _may_see(req, found)):
        return visible(req, found, stack_name), below
    top = stack(req, tx, stack_name, stack_id)
    return top, stack_trees.descendants(tx, top.root_id, top.id, depth)


def live_stack(req: Request, tx: Connection, stack_name: str, stack_id: str) -> stacks.Identity:
    """As `stack`, but without deleted ones."""
    found = stack(req, tx, stack_name, stack_id)
    if found.deleted_at is not None:
        raise unknown(stack_name)
    return found


def stack_by_name_or_id(req: Request, tx: Connection, text: str) -> stacks.Identity:
    """Look up by id if the text is one, deleted stacks included; else, or if not found, by name in the caller's
    project."""
    if _UUID.match(text):
        found = stacks.identity(tx, stored_id(text))
        if found is not None and _may_see(req, found):
            return visible(req, found, found.name)
    found = stacks.by_name(tx, req.context.project_id, text)
    if found is None:
        raise unknown(text)
    return visible(req, found, found.name)


def url(req: Request, stack: stacks.Identity | stacks.StoredStack) -> str:
    return links.stack_url(req.base, stack.project_id, stack.name, stack.id)


def present_outputs(req: Request, stack: stacks.StoredStack,
                    keys: tuple[str, ...] | None = None) -> list[Mapping[str, object]]:
    """Return the outputs of a live stack: for their names. `keys`: at least those that the stack has of these; None:
    all.

    An engine says which ones a stack in progress has, those of its present template, and resolves them. What is stored
    are those after the last action that has ended: they are shown of any other stack, of one that is being deleted, and
    where no engine answers.
    """
    answer = _resolved(req, stack, keys) if _is_changing(stack) else None
    return list(stack.outputs or ()) if answer is None else answer


def fresh_outputs(req: Request, stack: stacks.StoredStack,
                  keys: tuple[str, ...] | None = None) -> list[Mapping[str, object]]:
    """Return the same as `present_outputs`, for their values: an engine resolves those that are marked `live`, too."""
    found = present_outputs(req, stack, keys)
    live = tuple(str(output['output_key']) for output in found
                 if output.get('live') and (keys is None or output['output_key'] in keys))
    if not live or _is_changing(stack):             # no engine has answered, or it has resolved them
        return found
    anew = {output['output_key']: output for output in _resolved(req, stack, live) or ()}
    return [anew.get(output['output_key'], output) for output in found]


def _is_changing(stack: stacks.StoredStack) -> bool:
    return stack.status == Status.IN_PROGRESS and stack.action != Action.DELETE


def _resolved(req: Request, stack: stacks.StoredStack,
              keys: tuple[str, ...] | None) -> list[Mapping[str, object]] | None:
    """Return the outputs of these keys, or all, as an engine resolves them now; None when none answers."""
    answer = read_now(req, messages.ResolveOutputs(stack.id, keys))
    return answer if isinstance(answer, list) else None


def live_attributes(req: Request, stack: stacks.Identity, resource_name: str,
                    names: tuple[str, ...], without_access: bool) -> Mapping[str, object] | None:
    """All attributes of a resource, and those in `names`, read from the services; None when no engine answers, and
    for a resource that is to be deleted.

    `without_access`: those that give access to something are null."""
    values = read_now(req, messages.ResourceAttributes(stack.id, resource_name, names, without_access))
    return values if isinstance(values, Mapping) else None


def read_now(req: Request, message: messages.Message) -> object:
    """Call an engine. None when no engine is up or the call fails: callers then show the stored values. So they do
    once a call of the request has failed with 503, which may take its whole time: a page of stacks waits only once."""
    if req.waited_in_vain or not _engine_is_up(req):
        return None
    try:
        return req.call(message)
    except Exception as error:
        req.waited_in_vain = isinstance(error, exception.HeatException) and error.http_code == 503
        log_throttle.log(LOG, logging.WARNING, (message.method(), type(error)),
                         '%s: what is stored is shown instead: %s', message.method(), error)
        return None


def _engine_is_up(req: Request) -> bool:
    """Whether any engine is up: a call without one would wait a minute."""
    with req.db.reader() as tx:
        return any(engine.is_up for engine in engines.page(tx))
