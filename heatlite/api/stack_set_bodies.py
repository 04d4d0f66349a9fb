"""Bodies of stack sets, and the stack that a set is: one resource whose properties are parameters of the stack.

So an update keeps what it does not name, and revisions, plans, locks and protections are those of the stack.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypedDict

from heatlite.api import bodies, documents, stack_set_queries
from heatlite.api.query import LONGEST_NAME, natural
from heatlite.api.stack_set_queries import RegionsAndProjects
from heatlite.common import exception, template_format
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_SET_MEMBERS, Limits
from heatlite.db.stack_sets import RESOURCE, TYPE
from heatlite.language import environment as environments
from heatlite.language import masking
from heatlite.rpc import messages

Body = Mapping[str, object]
TEXTS = ('max_concurrent', 'failure_tolerance')
MEMBER = frozenset({'name', 'region_name', 'project_id', 'credential_secret_id', 'ca_cert', 'insecure'})
OF_STACK = ('tags', 'timeout_mins')
KEYS = frozenset({
    'template', 'template_url', 'files', 'environment', 'parameters', 'members', 'member_query', 'overrides',
    'region_order', 'on_removal', 'member_timeout_mins', *TEXTS, *OF_STACK})
KINDS = {'members': 'json', 'template': 'string', 'parameters': 'json', 'overrides': 'json', 'timeout': 'string',
         'max_concurrent': 'string', 'failure_tolerance': 'string', 'region_order': 'json', 'on_removal': 'string'}
DEFAULTS: Mapping[str, object] = {
    'parameters': {}, 'overrides': {}, 'timeout': '', 'max_concurrent': '1', 'failure_tolerance': '0',
    'region_order': [], 'on_removal': 'delete'}
SHAPES: Mapping[str, type] = {
    'template': str, 'members': list, 'parameters': dict, 'overrides': dict, 'region_order': list,
    'max_concurrent': str, 'failure_tolerance': str, 'on_removal': str, 'timeout': str}
SECRET = ('parameters', 'overrides')                # hidden if the members' template hides any parameter


def create(body: Body, limits: Limits, places: RegionsAndProjects) -> messages.CreateStack:
    """Parse the body of a create. Raises HTTPBadRequest. `places`: for a query."""
    _check_keys(body, KEYS | {'name'})
    name = body.get('name')
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise exception.InvalidField('name', _('a name of at most %d characters') % LONGEST_NAME, name)
    given = _given(body, limits, places)
    if 'template' not in given:
        raise exception.HTTPBadRequest(_('A stack set needs a template.'))
    if 'members' not in given:
        raise exception.HTTPBadRequest(_('A stack set needs members or a member_query.'))
    message = bodies.create_stack({**_of_stack(body), 'stack_name': name, 'disable_rollback': True,
                                   'template': _document({**DEFAULTS, **given})}, limits)
    return replace(message, template_text=None, files=bodies.files(body), environment=_environment(body, given, limits))


def update(body: Body, stack_id: str, stored: Mapping[str, object], limits: Limits,
           places: RegionsAndProjects) -> messages.UpdateStack:
    """Parse the body of an update. `stored`: the settings that the set has. Raises HTTPBadRequest."""
    _check_keys(body, KEYS)
    given = _given(body, limits, places)
    whole = {**_of_stack(body), 'template': _document({**stored, **given})}
    message = bodies.update_stack(whole, stack_id, limits, existing=True)
    return replace(message, template_text=None, files=bodies.files(body), environment=_environment(body, given, limits))


class StackSetSettings(TypedDict):
    """The settings of a set; those of its members by name are `parameters` with one of `overrides` over them."""

    template: str
    members: list[Mapping[str, object]]
    parameters: dict[str, object]
    overrides: dict[str, Mapping[str, object]]
    timeout: str
    max_concurrent: str
    failure_tolerance: str
    region_order: list[str]
    on_removal: str


def settings(stored: Mapping[str, object]) -> StackSetSettings:
    """Return the settings of a set, from the parameters of its stack as they are stored.

    Raises ValueError for those of another stack, which has a resource of the type under the same name."""
    found = {**DEFAULTS, **{name: stored[name] for name in KINDS if name in stored}}
    parsed: dict[str, Any] = {name: json.loads(value) if KINDS[name] == 'json' and isinstance(value, str) else value
              for name, value in found.items()}
    if not all(isinstance(parsed.get(name), kind) for name, kind in SHAPES.items()) or not all(
            isinstance(each, Mapping) for each in [*parsed['members'], *parsed['overrides'].values()]):
        raise ValueError('not the parameters of a stack set')
    return {'template': parsed['template'], 'members': parsed['members'], 'parameters': parsed['parameters'],
            'overrides': parsed['overrides'], 'timeout': parsed['timeout'], 'max_concurrent': parsed['max_concurrent'],
            'failure_tolerance': parsed['failure_tolerance'], 'region_order': parsed['region_order'],
            'on_removal': parsed['on_removal']}


def merged(stored: Mapping[str, object], message: messages.Source) -> StackSetSettings:
    """Return the settings of a set after a create or an update."""
    return settings({**stored, **message.environment['parameters']})


def hides(template: str) -> bool:
    """Whether the members' template hides any parameter."""
    return bool(masking.declared(_parsed(template)))


def named(member: Mapping[str, object]) -> str:
    """Return the name of a member in its set."""
    return str(member.get('name') or member.get('region_name') or '')


def _document(document: Mapping[str, object]) -> dict[str, object]:
    """Return the template of the stack that a set with these settings is."""
    is_hidden = hides(str(document['template']))
    names = [name for name in KINDS if document[name] != '']
    return {
        'heat_template_version': '2018-08-31', 'description': 'A stack set',
        'parameters': {name: {'type': kind, **({'default': DEFAULTS[name]} if name in DEFAULTS else {}),
                              **({'hidden': True} if is_hidden and name in SECRET else {})}
                       for name, kind in KINDS.items() if name in names},
        'resources': {RESOURCE: {'type': TYPE, 'properties': {name: {'get_param': name} for name in names}}},
        'outputs': {'stacks': {'description': 'Ids of the stacks of the members',
                               'value': {'get_attr': [RESOURCE, 'refs_map']}}}}


def _check_keys(body: Body, known: frozenset[str]) -> None:
    unknown = sorted(set(body) - known)
    if unknown:
        raise exception.HTTPBadRequest(_('A stack set does not have: %s') % ', '.join(unknown)[:LONGEST_NAME])


def _of_stack(body: Body) -> dict[str, object]:
    return {name: body[name] for name in OF_STACK if name in body}


def _given(body: Body, limits: Limits, places: RegionsAndProjects) -> dict[str, object]:
    """Return what the body says of the properties of the set, as values of parameters."""
    found: dict[str, object] = {}
    document, text = documents.template(body, limits)
    if document is not None:
        found['template'] = text if text is not None else json.dumps(document)
    if body.get('members') is not None and body.get('member_query') is not None:
        raise exception.HTTPBadRequest(_('A stack set has either members or a member_query.'))
    if body.get('members') is not None:
        found['members'] = _members(body['members'])
    elif body.get('member_query') is not None:
        found['members'] = _members(stack_set_queries.members(body['member_query'], places))
    for name in TEXTS:
        if body.get(name) is not None:
            found[name] = _number(name, body[name])
    for name, kind in (('overrides', Mapping), ('region_order', list)):
        if body.get(name) is not None:
            if not isinstance(body[name], kind):
                raise exception.InvalidField(name, _('a map') if kind is Mapping else _('a list'), body[name])
            found[name] = body[name]
    if body.get('on_removal') is not None:
        found['on_removal'] = body['on_removal']
    if body.get('member_timeout_mins') is not None:
        found['timeout'] = str(natural('member_timeout_mins', body['member_timeout_mins']))
    return found


def _members(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise exception.InvalidField('members', _('a list of maps'), type(value).__name__)
    if not 0 < len(value) <= MOST_SET_MEMBERS:
        raise exception.HTTPBadRequest(_('A stack set has 1 to %d members.') % MOST_SET_MEMBERS)
    for member in value:
        unknown = sorted(set(member) - MEMBER)
        if unknown:
            raise exception.HTTPBadRequest(
                _('A member of a stack set does not have: %s') % ', '.join(unknown)[:LONGEST_NAME])
    return value


def _number(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise exception.InvalidField(name, _('a number, or per cent as in "25%"'), value)
    return str(value)


def _environment(body: Body, given: Mapping[str, object], limits: Limits) -> dict[str, object]:
    """Return the environment of the stack. That of the body is for the members: its parameters become their parameters,
    its registry goes to them through the stack."""
    sections = documents.environment(body.get('environment'), limits) if body.get('environment') else {}
    other = sorted(name for name, value in sections.items()
                   if value and name not in (environments.PARAMETERS, environments.REGISTRY))
    if other:
        raise exception.HTTPBadRequest(
            _('The environment of a stack set has only parameters and a resource_registry, not: %s') % ', '.join(other))
    parameters = body.get('parameters')
    if parameters is not None and not isinstance(parameters, Mapping):
        raise exception.InvalidField('parameters', _('a map'), type(parameters).__name__)
    values = {**documents.section(sections, environments.PARAMETERS), **(parameters or {})}
    is_given = parameters is not None or bool(sections.get(environments.PARAMETERS))
    return {**environments.with_parameters({environments.REGISTRY: sections.get(environments.REGISTRY) or {}}),
            environments.PARAMETERS: {**given, **({'parameters': values} if is_given else {})}}


def _parsed(template: str) -> Mapping[str, object]:
    try:
        found = template_format.parse(template)
    except ValueError as error:
        raise exception.HTTPBadRequest(str(error)) from None
    return found if isinstance(found, Mapping) else {}
