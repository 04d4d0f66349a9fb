"""Parses request bodies with a template: create, preview, update, preview of an update, validate.

Each body becomes one message. Wrong fields raise HTTPBadRequest that names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from heatlite.api import documents
from heatlite.api.query import boolean, natural, tags
from heatlite.common import document_size, exception
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_ENVIRONMENT_FILES, MOST_FILES, Limits
from heatlite.rpc import messages

SERVICE_UNAVAILABLE = '99001'               # the only error code that a validation may ignore

# Keys of what a PATCH is applied to, and of a definition, which change nothing if they are empty.
_OF_STACK = frozenset({'existing', 'stack_name'})
_OF_DEFINITION = frozenset({'template', 'template_url', 'files', 'environment', 'environment_files', 'files_container',
                            'parameters'})
# Keys of a definition and of what it starts from.
_OF_SOURCES = _OF_DEFINITION | {'existing', 'clear_parameters', 'imports'}

Body = Mapping[str, Any]


def create_stack(body: Body, limits: Limits) -> messages.CreateStack:
    fields, adopt = _creation(body, limits)
    return messages.CreateStack(**fields, adopt=adopt)


def preview_stack(body: Body, limits: Limits) -> messages.PreviewStack:
    fields, adopt = _creation(body, limits)
    return messages.PreviewStack(**fields, adopt=adopt)


def update_stack(body: Body, stack_id: str, limits: Limits, existing: bool,
                 if_match: tuple[str, ...] | None = None) -> messages.UpdateStack:
    return messages.UpdateStack(**_update(body, stack_id, limits, existing), if_match=if_match)


def preview_update_stack(body: Body, stack_id: str, limits: Limits, existing: bool,
                         show_nested: bool) -> messages.PreviewUpdateStack:
    return messages.PreviewUpdateStack(**_update(body, stack_id, limits, existing), show_nested=show_nested)


def plan_create(body: Body, limits: Limits) -> messages.CreatePlan:
    """Parse the body of a plan of a new stack: that of its create. An adoption cannot be planned."""
    fields, adopt = _creation(body, limits)
    if adopt is not None:
        raise exception.HTTPBadRequest(_('The adoption of a stack cannot be planned.'))
    if body.get('refresh'):
        raise _only_updates_refresh()
    return messages.CreatePlan(**fields, action=messages.CREATE)


def plan_change(body: Body, stack_id: str, limits: Limits) -> messages.CreatePlan:
    """Parse the body of a plan of an update, which is the body of the update, or of a delete."""
    action = body.get('action', messages.UPDATE)
    refresh = boolean('refresh', body['refresh']) if body.get('refresh') is not None else None
    if action == messages.DELETE:
        if body.get('revision') is not None:
            raise exception.HTTPBadRequest(_('A delete has no revision.'))
        if refresh:
            raise _only_updates_refresh()
        return messages.CreatePlan(action=action, stack_id=stack_id)
    if action != messages.UPDATE:
        raise exception.InvalidField('action', _('update or delete'), action)
    if body.get('revision') is not None:
        return _plan_of_revision(body, stack_id, refresh)
    fields = _update(body, stack_id, limits, _is_existing(body))
    fields['converge'] = _refreshed(fields['converge'], refresh)
    return messages.CreatePlan(**fields, action=action)


def _refreshed(converge: bool | None, refresh: bool | None) -> bool | None:
    """Return whether a plan looks at reality. Raises HTTPBadRequest if the two names of it differ."""
    if refresh is not None and converge not in (None, refresh):
        raise exception.HTTPBadRequest(_('In a plan, refresh and converge mean the same; they may not differ.'))
    return converge or refresh


def _only_updates_refresh() -> exception.HeatException:
    return exception.HTTPBadRequest(_('refresh is only for the plan of an update.'))


def _plan_of_revision(body: Body, stack_id: str, refresh: bool | None) -> messages.CreatePlan:
    """Parse the body of a plan of an update to the definition of a revision, which is all of its source."""
    refused = [key for key in body if key in _OF_SOURCES]
    if refused:
        raise exception.HTTPBadRequest(
            _('A plan of a revision has its definition; the request must not have: %s') % ', '.join(sorted(refused)))
    return messages.CreatePlan(**_options(body), action=messages.UPDATE, stack_id=stack_id,
                               converge=_refreshed(_converge(body), refresh),
                               revision=natural('revision', body['revision']))


def validate_template(body: Body, limits: Limits, show_nested: bool,
                      ignore_errors: tuple[str, ...]) -> messages.ValidateTemplate:
    return messages.ValidateTemplate(**_source(body, limits, required=True), show_nested=show_nested,
                                     ignore_errors=ignore_errors)


def ignored_errors(text: str | None) -> tuple[str, ...]:
    """Parse the `ignore_errors` query value: a comma separated list of error codes."""
    codes = tuple(text.split(',')) if text else ()
    unknown = [code for code in codes if code != SERVICE_UNAVAILABLE]
    if unknown:
        raise exception.HTTPBadRequest(_('Invalid codes in ignore_errors : %s') % unknown)
    return codes


def changes_nothing(body: Body) -> bool:
    """Whether a PATCH requests the present definition of the stack, as clients write it: also with empty values."""
    environment = body.get('environment')
    if isinstance(environment, Mapping):
        environment = any(environment.values())
    elif isinstance(environment, str):
        environment = environment.strip() not in ('', '{}')
    return (set(body) <= _OF_DEFINITION | _OF_STACK and not environment
            and not any(body.get(key) for key in _OF_DEFINITION - {'environment'}))


class _Options(TypedDict):
    timeout_mins: int | None
    disable_rollback: bool | None
    tags: tuple[str, ...] | None


class _Source(TypedDict):
    template: Mapping[str, object] | None
    template_text: str | None
    files: dict[str, str]
    environment_files: tuple[str, ...]
    files_container: str | None
    imports: dict[str, object]
    environment: dict[str, object]


class _Creation(_Source):
    stack_name: str
    timeout_mins: int | None
    disable_rollback: bool
    tags: tuple[str, ...] | None


class _Update(_Options, _Source):
    stack_id: str
    converge: bool | None
    existing: bool
    clear_parameters: tuple[str, ...]


def _creation(body: Body, limits: Limits) -> tuple[_Creation, Mapping[str, object] | None]:
    """Parse the body of a create: its fields, and the data of an adoption."""
    options = _options(body)
    if 'converge' in body:
        raise exception.HTTPBadRequest(
            _('converge flag only supported in stack update (or update preview) request.'))
    if 'stack_name' not in body:
        raise exception.HTTPBadRequest(_('No stack name specified'))
    name = body['stack_name']
    if not isinstance(name, str):
        raise exception.StackValidationFailed(message=_('Invalid stack name %s, must be a string') % name)
    adopted = body.get('adopt_stack_data')
    document = None if adopted is None else documents.adopt_data(adopted, limits)
    source = _source(body if document is None else _with_adopted(body, document, limits), limits, required=True)
    return {**source, 'stack_name': name, 'timeout_mins': options['timeout_mins'], 'tags': options['tags'],
            'disable_rollback': options['disable_rollback'] is not False}, document


def _with_adopted(body: Body, document: Mapping[str, object], limits: Limits) -> dict[str, object]:
    """Complete a body from its adopt data; values of the body take precedence."""
    completed = {**body, 'template': document['template']}
    if not body.get('files') and isinstance(document.get('files'), Mapping):
        completed['files'] = document['files']
    adopted = document.get('environment')
    if not isinstance(adopted, Mapping):
        return completed
    own = {} if body.get('environment_files') else documents.environment(body.get('environment'), limits)
    inherited = documents.section(
        documents.environment({'parameters': adopted.get('parameters') or {}}, limits), 'parameters')
    if body.get('environment') or body.get('environment_files'):
        completed['environment'] = own
    else:
        completed['environment'] = {name: adopted[name] for name in ('parameter_defaults', 'resource_registry')
                                    if adopted.get(name)}
    completed['parameters'] = {**inherited, **documents.section(own, 'parameters'), **_parameters(body)}
    return completed


def _update(body: Body, stack_id: str, limits: Limits, patch: bool) -> _Update:
    fields, converge = _options(body), _converge(body)
    existing = patch or _is_existing(body)
    forgotten = body.get('clear_parameters') or ()
    if isinstance(forgotten, str) or not all(isinstance(name, str) for name in _listed('clear_parameters', forgotten)):
        raise exception.InvalidField('clear_parameters', _('a list of names'), forgotten)
    source = _source(body, limits, required=not patch, over_stored=existing)
    return {**fields, **source, 'stack_id': stack_id, 'converge': converge, 'existing': existing,
            'clear_parameters': tuple(forgotten) if existing else ()}


def _is_existing(body: Body) -> bool:
    return body.get('existing') is not None and boolean('existing', body['existing'])


def _converge(body: Body) -> bool | None:
    return boolean('converge', body['converge']) if body.get('converge') is not None else None


def _options(body: Body) -> _Options:
    """Parse the common fields of create and update; None where the body has none."""
    found: _Options = {'timeout_mins': None, 'disable_rollback': None, 'tags': None}
    if body.get('timeout_mins') is not None:
        found['timeout_mins'] = natural('timeout_mins', body['timeout_mins'])
    if 'disable_rollback' in body:
        found['disable_rollback'] = boolean('disable_rollback', body['disable_rollback'])
    if body.get('tags') is not None:
        found['tags'] = tags(body['tags'])
    return found


def files(body: Body) -> Mapping[str, str]:
    """Return the files of a request, by name. Raises InvalidField."""
    found = body.get('files') or {}
    if not isinstance(found, Mapping):
        raise exception.InvalidField('files', _('a map of names and texts'), type(found).__name__)
    for name, text in found.items():
        if not isinstance(text, str):
            raise exception.InvalidField('files', _('a text for the file "%s"') % name, type(text).__name__)
    if len(found) > MOST_FILES:
        raise exception.InvalidField('files', _('at most %d files') % MOST_FILES, len(found))
    return found


def _source(body: Body, limits: Limits, required: bool, over_stored: bool = False) -> _Source:
    """Parse the fields of `messages.Source`. Without a template: None, or an error if it is `required`.

    `over_stored`: the stored files of the stack count as well, so the engine looks for the environment files."""
    given = files(body)
    names = body.get('environment_files') or ()
    if not all(isinstance(name, str) for name in _listed('environment_files', names)):
        raise exception.InvalidField('environment_files', _('a list of names in "files"'), names)
    if len(names) > MOST_ENVIRONMENT_FILES:
        raise exception.InvalidField('environment_files', _('at most %d names') % MOST_ENVIRONMENT_FILES, len(names))
    missing = [name for name in names if name not in given]
    if missing and not over_stored and not body.get('files_container'):
        raise exception.HTTPBadRequest(_('Environment files are missing in "files": %s') % ', '.join(missing))
    container = body.get('files_container')
    if container is not None and not isinstance(container, str):
        raise exception.InvalidField('files_container', _('a name'), container)
    template, text = documents.template(body, limits)
    if template is None and required:
        raise exception.HTTPBadRequest(_('No template specified'))
    return {'template': template, 'template_text': text, 'files': dict(given), 'environment_files': tuple(names),
            'files_container': container, 'imports': _imports(body),
            'environment': _environment(body, limits, ignore=bool(names))}


def _environment(body: Body, limits: Limits, ignore: bool) -> dict[str, object]:
    """Return the environment with the request's parameters merged over it; the latter alone if environment files are
    given."""
    environment = {} if ignore else documents.environment(body.get('environment'), limits)
    given = document_size.check_size(dict(_parameters(body)), limits)
    merged = {**documents.section(environment, 'parameters'), **given}
    return {**environment, 'parameters': merged} if given else environment


def _parameters(body: Body) -> Mapping[str, object]:
    given = body.get('parameters', {})
    if not isinstance(given, Mapping):
        raise exception.InvalidField('parameters', _('a map of names and values'), given)
    return given


def _imports(body: Body) -> dict[str, object]:
    given = body.get('imports') or {}
    if not isinstance(given, Mapping) or not all(isinstance(path, str) for path in given):
        raise exception.InvalidField('imports', _('a map of resources and objects'), given)
    return dict(given)


def _listed(key: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise exception.InvalidField(key, _('a list'), value)
    return value
