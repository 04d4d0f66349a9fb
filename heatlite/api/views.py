"""Renders rows as the objects of API answers, members of lists also as JSON. Pure; `base` is the prefix of links."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar, TypeVarTuple

from heatlite.api import json_text, links
from heatlite.api.json_text import JsonText
from heatlite.common.memoization import memoized
from heatlite.common.timeutils import isotime
from heatlite.db import codec, events, resource_lists, stack_lists, stacks
from heatlite.db.engines import Engine
from heatlite.db.load import Load
from heatlite.db.snapshots import Snapshot
from heatlite.db.software_configs import Config
from heatlite.language.parameters import PSEUDO_PARAMETERS

View = dict[str, object]

K = TypeVar('K', bound=codec.CachedRow)
Given = TypeVarTuple('Given')

CACHED_TEXTS = 2_000            # texts that `listed` keeps of each kind, if they are small:
SMALL = 2_000                   # characters
NO_DESCRIPTION = 'No description'
NO_OUTPUT_DESCRIPTION = 'No description given'


def when(at: datetime | None) -> str | None:
    return None if at is None else isotime(at)


def listed(render: Callable[[str, K, *Given], View]) -> Callable[[str, K, *Given], View | JsonText]:
    """`render`, as a member of a list. For an object that is kept, its JSON is made once for the same prefix of links
    and arguments that are equal, if it is small."""

    def write(prefix: str, item: K, *given: *Given) -> JsonText:
        return JsonText(json_text.write(render(prefix, item, *given)))

    write_once = memoized(write, CACHED_TEXTS, lambda text, *_given: len(text) <= SMALL)

    @functools.wraps(render)
    def member(prefix: str, item: K, *given: *Given) -> View | JsonText:
        return (write_once if item.is_cached else render)(prefix, item, *given)

    return member


# --- stacks ----------------------------------------------------------------------------------------------

@listed
def listed_stack(base: str, stack: stack_lists.Summary, with_project: bool) -> View:
    """Return a stack in a list. `with_project`: for admins, who see the stacks of all projects."""
    description = '' if stack.description == NO_DESCRIPTION else stack.description or ''
    view = {**_state_of_stack(base, stack, description), 'tags': stack.tags or None}
    if with_project:
        view['project'] = stack.project_id
    return view


def stack_detail(base: str, stack: stacks.StoredStack, outputs: Iterable[Mapping[str, object]] | None) -> View:
    """Return a stack with details. `outputs` None omits the key."""
    description = described(stack)
    view = {
        **_state_of_stack(base, stack, description),
        'template_description': description,
        'parameters': parameters(stack),
        'disable_rollback': stack.disable_rollback,
        'timeout_mins': stack.timeout_mins,
        'notification_topics': [],
        'capabilities': [],
        'tags': list(stack.tags or ()),
    }
    if outputs is not None:
        view['outputs'] = [output(each) for each in outputs]
    return view


def _state_of_stack(base: str, stack: stack_lists.Summary | stacks.StoredStack, description: str) -> View:
    """Return what lists and details have in common."""
    return {
        'id': stack.id,
        'links': [links.link(links.stack_url(base, stack.project_id, stack.name, stack.id))],
        'stack_name': stack.name,
        'description': description,
        'stack_status': f'{stack.action}_{stack.status}',
        'stack_status_reason': stack.reason,
        'creation_time': when(stack.created_at),
        'updated_time': when(stack.updated_at),
        'deletion_time': when(stack.deleted_at),
        'stack_owner': stack.username,
        'parent': stack.owner_id,
        'stack_user_project_id': stack.user_project_id,
    }


def described(stack: stacks.StoredStack) -> str:
    """Return the description. A deleted stack has an empty template, see `masking.template`."""
    return (stack.description if stack.deleted_at is None else '') or NO_DESCRIPTION


def parameters(stack: stacks.StoredStack) -> Mapping[str, object]:
    """Return the parameters; of a deleted stack those that every template has."""
    found = stack.parameters or {}
    return found if stack.deleted_at is None else {
        name: value for name, value in found.items() if name in PSEUDO_PARAMETERS}


def output(stored: Mapping[str, object]) -> View:
    """Return an output: key, description, value, and the error if it cannot be computed."""
    view = {'output_key': stored['output_key'],
            'description': stored.get('description') or NO_OUTPUT_DESCRIPTION,
            'output_value': stored.get('output_value')}
    if stored.get('output_error') is not None:
        view['output_error'] = stored['output_error']
    return view


def output_name(stored: Mapping[str, object]) -> View:
    return {'output_key': stored['output_key'], 'description': stored.get('description') or NO_OUTPUT_DESCRIPTION}


# --- resources -------------------------------------------------------------------------------------------

def resource(stack_url: str, resource_row: resource_lists.ShownResource, required_by: tuple[str, ...],
             parent: str | None, nested_url: str | None) -> View:
    """Return a resource without details. `parent`: resource of the outer stack that owns this one's stack;
    `nested_url`: of the stack that this one owns."""
    created = isotime(resource_row.created_at)
    shown = [links.link(links.resource_url(stack_url, resource_row.name)), links.link(stack_url, 'stack')]
    if nested_url is not None:
        shown.append(links.link(nested_url, 'nested'))
    view: View = {
        'resource_name': resource_row.name,
        'logical_resource_id': resource_row.name,
        'physical_resource_id': resource_row.physical_id or '',
        'resource_type': resource_row.type,
        'resource_status': f'{resource_row.action}_{resource_row.status}',
        'resource_status_reason': resource_row.reason,
        'creation_time': created,
        'updated_time': created if resource_row.updated_at is None else isotime(resource_row.updated_at),
        'required_by': list(required_by),
        'links': shown,
    }
    if parent is not None:
        view['parent_resource'] = parent
    return view


listed_resource = listed(resource)


# --- events ----------------------------------------------------------------------------------------------

def event(stack_url: str, event: events.ShownEvent, root_url: str | None = None) -> View:
    """Return an event in a list. `root_url`: of the outermost stack, if nested ones were requested."""
    resource_url = links.resource_url(stack_url, event.resource_name)
    shown = [links.link(links.event_url(resource_url, event.uuid)), links.link(resource_url, 'resource'),
             links.link(stack_url, 'stack')]
    if root_url is not None:
        shown.append(links.link(root_url, 'root_stack'))
    return {
        'id': event.uuid,
        'links': shown,
        'event_time': when(event.created_at),
        'resource_name': event.resource_name,
        'logical_resource_id': event.resource_name,
        'physical_resource_id': event.physical_id,
        'resource_status': f'{event.action}_{event.status}',
        'resource_status_reason': event.reason,
    }


def event_detail(stack_url: str, found: events.ShownEvent) -> View:
    return {**event(stack_url, found), 'resource_type': found.resource_type,
            'resource_properties': found.properties or {}}


listed_event = listed(event)


# --- the rest --------------------------------------------------------------------------------------------

def snapshot(snapshot: Snapshot) -> View:
    """Return a snapshot. Hidden parameters are masked; an export still shows them, because adoption needs them."""
    return {'id': snapshot.id, 'name': snapshot.name, 'action': snapshot.action, 'status': snapshot.status,
            'status_reason': snapshot.reason, 'creation_time': when(snapshot.created_at), 'data': snapshot.export}


def config_summary(config: Config, with_project: bool) -> View:
    view: View = {'id': config.id, 'name': config.name, 'group': config.group, 'creation_time': when(config.created_at)}
    if with_project:
        view['project'] = config.project_id
    return view


def service(engine: Engine, is_up: bool) -> View:
    """Return an engine. Times have microseconds here."""
    return {
        'id': engine.id, 'binary': engine.binary, 'engine_id': engine.id, 'host': engine.host,
        'hostname': engine.hostname, 'topic': engine.topic, 'report_interval': engine.report_interval,
        'created_at': _precise(engine.created_at), 'updated_at': _precise(engine.updated_at),
        'deleted_at': _precise(engine.deleted_at), 'status': 'up' if is_up else 'down',
    }


def load(row: Load) -> View:
    return {
        'engines': [{'engine_id': each, 'stacks': count} for each, count in sorted(row.driven.items())],
        'queue': {'free': row.free, 'silent': row.silent, 'struck': row.struck, 'signals': row.signals,
                  'oldest_signal': when(row.oldest_signal)},
        'running': [{'action': each.action, 'stacks': each.stacks, 'since': when(each.since)}
                    for each in row.running],
        'services': [{'service': each.service, 'resources': each.resources, 'failing': each.failing,
                      'since': when(each.since)} for each in row.waits],
    }


def _precise(at: datetime | None) -> str | None:
    return None if at is None else at.strftime('%Y-%m-%dT%H:%M:%S.%f')
