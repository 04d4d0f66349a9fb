"""The description of the API for programs: OpenAPI 3.1, made from the route table and the shapes.

A route has path, method, body and status; this module adds the rest, by handler. The shapes are data (shapes.yaml).
Served without identity at /v1/openapi.json.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources as package_files
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob
import yaml

from heatlite.api.query_keys import QUERY_KEYS, TEXT, Json
from heatlite.api.wsgi import Body, Route

PATH = '/openapi.json'                  # below the version
LOOKUP = 'stacks.lookup'                # one handler for several methods
VERSION = '3.1.0'
STREAM = 'text/event-stream'

LOCATION: Json = {'Location': {'schema': {'type': 'string', 'format': 'uri'}}}
ETAG: Json = {'ETag': {'description': 'The tag of the definition of the stack', 'schema': TEXT}}
IF_MATCH: Json = {'name': 'If-Match', 'in': 'header', 'schema': TEXT, 'description': (
    'Tags of definitions; the answer is a 412 if the definition of the stack has none of them')}


# --- operations of handlers ------------------------------------------------------------------------------

@dataclass(frozen=True)
class Operation:
    """One operation. `answer` and `body`: names of shapes; answers of status 202, 204 and 302 may have none.

    `kind`: the content type of an answer that is no JSON. `has_tag`: the answer may have an `ETag`, of a stack's
    definition. `is_conditional`: the request may have `If-Match`.
    """

    summary: str
    answer: str = ''
    body: str = ''
    kind: str = ''
    has_tag: bool = False
    is_conditional: bool = False


OPERATIONS: Mapping[str, Operation] = {                 # by module and function of the handler
    'versions.show': Operation('The version served here', 'Version'),
    'validate.validate': Operation('What a template asks for', 'Validation', 'TemplateBody'),
    'resource_types.index': Operation('List resource types', 'TypeList'),
    'resource_types.show': Operation('Schema of a resource type', 'TypeSchema'),
    'resource_types.template': Operation('A template made from a resource type', 'Object'),
    'constraints.values': Operation('List the values that a custom constraint accepts', 'ConstraintValues'),
    'template_versions.index': Operation('List template versions', 'VersionList'),
    'template_versions.functions': Operation('List functions of a template version', 'FunctionList'),
    'stacks.index': Operation('List stacks', 'StackList'),
    'stacks.detail': Operation('List stacks; the same objects as the other list', 'StackList'),
    'stacks.create': Operation('Create or adopt a stack', 'NewStack', 'StackBody', has_tag=True),
    'stacks.preview': Operation('Show a stack without creating it', 'StackPreview', 'StackBody'),
    LOOKUP: Operation('The way to a stack named by name, id or ARN', body='Object'),
    'stacks.show': Operation('Show a stack', 'OneStack', has_tag=True),
    'stacks.update': Operation('Update a stack: all is replaced', body='UpdateBody', has_tag=True, is_conditional=True),
    'stacks.patch': Operation('Update a stack: what is not named is kept', body='UpdateBody', has_tag=True,
                              is_conditional=True),
    'stacks.delete': Operation('Delete a stack', is_conditional=True),
    'stacks.template': Operation('The template, as it was given', 'Object'),
    'stacks.environment': Operation('The environment, without secrets', 'Environment'),
    'stacks.files': Operation('The files that came with the template', 'Files'),
    'stacks.preview_update': Operation('What PUT would change', 'ResourceChanges', 'UpdateBody'),
    'stacks.preview_patch': Operation('What PATCH would change', 'ResourceChanges', 'UpdateBody'),
    'forced_deletes.begin': Operation('Delete a stack in any case', 'NewStack'),
    'forced_deletes.release': Operation('Delete a stack and keep its objects in the cloud', 'NewStack'),
    'forced_deletes.show': Operation('What a forced delete or a release has left in the cloud', 'OneLeft'),
    'stacks.abandon': Operation('Forget a stack and leave what it made', 'Export'),
    'stacks.export': Operation('The stack as a document that can be adopted', 'Export'),
    'project_templates.generate': Operation('A template of the objects of the project, with the imports to it',
                                            'ProjectTemplate', 'ProjectTemplateBody'),
    'refactors.refactor': Operation('Move resources between names and stacks, without a change in the cloud',
                                    'OneRefactor', 'RefactorBody'),
    'refactors.preview': Operation('Whether a refactor is possible, and what prevents it', 'OneRefactor',
                                   'RefactorBody'),
    'stack_sets.index': Operation('List stack sets', 'StackSetList'),
    'stack_sets.create': Operation('Create a stack set', 'NewStackSet', 'NewStackSetBody'),
    'stack_sets.preview_new': Operation('What a new stack set would do in its members', 'StackSetPreview',
                                        'NewStackSetBody'),
    'stack_sets.show': Operation('Show a stack set', 'OneStackSet'),
    'stack_sets.update': Operation('Update a stack set: what is not named is kept, what has failed is tried again',
                                   body='StackSetBody'),
    'stack_sets.delete': Operation('Delete a stack set'),
    'stack_sets.preview': Operation('What an update would do in the members of a stack set', 'StackSetPreview',
                                    'StackSetBody'),
    'stack_sets.stop': Operation('Stop the operation of a stack set'),
    'stack_sets.members': Operation('List the members of a stack set', 'StackSetMembers'),
    'stack_sets.operations': Operation('List the operations of a stack set', 'StackSetOperations'),
    'stack_sets.operation': Operation('Show an operation of a stack set', 'OneStackSetOperation'),
    'stack_sets.drift': Operation('What the last looks at the stacks of a set have found', 'StackSetDrift'),
    'stack_sets.look': Operation('Compare the stacks of a set with their clouds', 'StackSetDrift'),
    'plans.index': Operation('List plans', 'PlanList'),
    'plans.create': Operation('Plan a new stack', 'OnePlan', 'StackBody'),
    'plans.create_of_stack': Operation('Plan an update or a delete', 'OnePlan', 'PlanBody'),
    'plans.show': Operation('Show a plan', 'OnePlan'),
    'plans.delete': Operation('Delete a plan'),
    'plans.approve': Operation('Approve a plan'),
    'plans.apply': Operation('Do what a plan says, or nothing', 'NewStack', 'DigestBody'),
    'revisions.index': Operation('List the definitions that were accepted for a stack', 'RevisionList'),
    'revisions.show': Operation('Show a revision with its definition', 'OneRevision'),
    'revisions.diff': Operation('How a revision differs from another one', 'RevisionDiff'),
    'explain.show': Operation('Explain what a stack waits for, or why it failed', 'OneExplanation'),
    'explain.show_resource': Operation('Explain what a resource waits for, or why it failed', 'ResourceExplanation'),
    'progress.show': Operation('Tell how far the action of a stack has come', 'OneProgress'),
    'timeline.show': Operation('Tell when each resource of a stack was worked on', 'OneTimeline'),
    'drift.show': Operation('How the objects of a stack differed from its definition at the last look', 'OneDrift'),
    'drift.look': Operation('Compare the objects of a stack with its definition', 'OneDrift'),
    'guards.protections': Operation('What must not be done to a stack and its resources', 'Protections'),
    'guards.set_protections': Operation('Protect a stack and its resources: all is replaced', 'Protections',
                                        'ProtectionsBody'),
    'guards.change_protections': Operation('Set and remove the protections of some paths; others stay', 'Protections',
                                           'ProtectionsChange'),
    'guards.delete_protections': Operation('Remove all protections'),
    'guards.lock': Operation('The lock of a stack', 'OneLock'),
    'guards.set_lock': Operation('Lock a stack: it cannot be changed', 'OneLock', 'LockBody'),
    'guards.delete_lock': Operation('Unlock a stack'),
    'snapshots.create': Operation('Take a snapshot', 'Snapshot', 'SnapshotBody'),
    'snapshots.index': Operation('List snapshots', 'SnapshotList'),
    'snapshots.show': Operation('Show a snapshot', 'OneSnapshot'),
    'snapshots.delete': Operation('Delete a snapshot'),
    'snapshots.restore': Operation('Go back to a snapshot'),
    'outputs.index': Operation('List outputs', 'OutputList'),
    'outputs.show': Operation('Show an output with its value', 'OneOutput'),
    'actions.action': Operation('Suspend, resume, check or cancel', 'Nothing', 'ActionBody'),
    'resources.index': Operation('List resources', 'ResourceList'),
    'resources.show': Operation('Show a resource', 'OneResource'),
    'resources.mark_unhealthy': Operation('Say that a resource is unhealthy, or well', 'Nothing', 'UnhealthyBody'),
    'resources.metadata': Operation("A resource's metadata", 'Metadata'),
    'resources.signal': Operation('Signal a resource', 'Nothing', 'Object'),
    'events.index': Operation('List events', 'EventList'),
    'events.index_of_resource': Operation('List events of a resource', 'EventList'),
    'events.show': Operation('Show an event', 'OneEvent'),
    'event_streams.of_project': Operation('Events of a project as they happen', kind=STREAM),
    'event_streams.of_stack': Operation('Events of a stack as they happen', kind=STREAM),
    'software_configs.index': Operation('List software configs', 'ConfigList'),
    'software_configs.create': Operation('Create a software config', 'OneConfig', 'ConfigBody'),
    'software_configs.show': Operation('Show a software config', 'OneConfig'),
    'software_configs.delete': Operation('Delete a software config'),
    'software_deployments.index': Operation('List software deployments', 'DeploymentList'),
    'software_deployments.create': Operation('Create a software deployment', 'OneDeployment', 'NewDeploymentBody'),
    'software_deployments.metadata': Operation('Configs deployed on a server', 'ServerConfigs'),
    'software_deployments.show': Operation('Show a software deployment', 'OneDeployment'),
    'software_deployments.update': Operation('Update a software deployment', 'OneDeployment', 'DeploymentBody'),
    'software_deployments.delete': Operation('Delete a software deployment'),
    'services.index': Operation('List engines', 'ServiceList'),
    'services.load': Operation('How much work the engines have, in numbers', 'OneLoad'),
    'services.build_info': Operation('What runs', 'BuildInfo'),
}


# --- the document ----------------------------------------------------------------------------------------

def document(table: Iterable[Route], base: str = '/v1') -> Json:
    """Return the whole description. `base`: the prefix of the paths, for the requesting client."""
    paths: dict[str, Json] = {}
    for route in table:
        for path, part in _spelled_out(route.path):
            paths.setdefault(path, {}).setdefault(route.method.lower(), _operation(route, path, part))
    return {
        'openapi': VERSION,
        'info': {'title': 'Orchestration', 'version': '1.0', 'license': {'name': 'Apache-2.0'},
                 'description': 'Stacks of cloud resources, described by templates.'},
        'servers': [{'url': base}],
        'security': [{'token': []}, {}],
        'paths': paths,
        'components': {'schemas': shapes(), 'securitySchemes': {
            'token': {'type': 'apiKey', 'in': 'header', 'name': 'X-Auth-Token'}}},
    }


@functools.cache
def shapes() -> dict[str, Json]:
    """Return the shapes as JSON schemas: `closed` written out, references made absolute. Read once: not to be
    changed."""
    text = package_files.files('heatlite.api').joinpath('shapes.yaml').read_text(encoding='utf-8')
    loaded = yaml.load(text, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    return {name: _schema(shape) for name, shape in loaded.items()}


def _schema(shape: Any) -> Any:
    match shape:
        case {'$ref': str(name)}:
            return _reference(name)
        case {'closed': True, 'properties': dict(given)}:
            properties = {name: _schema(each) for name, each in given.items() if each is not None}
            optional = shape.get('optional', ())
            return {'type': 'object', 'additionalProperties': False, 'properties': properties,
                    'required': [name for name in properties if name not in optional]}
        case dict():
            return {name: _schema(each) for name, each in shape.items()}
        case list():
            return [_schema(each) for each in shape]
    return shape


def _reference(name: str) -> Json:
    return {'$ref': f'#/components/schemas/{name}'}


_SERVER = 'the URL of the server'           # in its place until a request says it
_PARAMETER = re.compile(r'{(\w+)(?::([^}]*))?}')


def _spelled_out(path: str) -> Iterator[tuple[str, str]]:
    """(path, the chosen part): one for each alternative of a pattern. ARNs are omitted: they are lookups as others."""
    pattern = next((found for found in _PARAMETER.finditer(path) if found[2]), None)
    if pattern is None:
        yield path, ''
    elif pattern[1] == 'path':
        for word in pattern[2].split('|'):
            yield path.replace(pattern[0], word), word


def name_of(route: Route) -> str:
    return f"{route.handler.__module__.rpartition('.')[2]}.{route.handler.__name__}"


def _operation(route: Route, path: str, part: str) -> Json:
    name = name_of(route)
    about = OPERATIONS[name]
    found: Json = {
        'operationId': '.'.join([name, *([part] if part else []),
                                 *([route.method.lower()] if name == LOOKUP else [])]),
        'tags': [name.partition('.')[0]], 'summary': about.summary,
        'parameters': [
            *({'name': each[1], 'in': 'path', 'required': True, 'schema': {'type': 'string', 'minLength': 1}}
              for each in _PARAMETER.finditer(path)),
            *({'name': key, 'in': 'query', 'schema': each.kind} for key, each in QUERY_KEYS.get(name, {}).items()),
            *([IF_MATCH] if about.is_conditional else [])],
        'responses': _responses(route, about)}
    if route.body is not Body.NONE:
        found['requestBody'] = {'required': route.body is Body.REQUIRED,
                                'content': {'application/json': {'schema': _reference(about.body)}}}
    return found


def _responses(route: Route, about: Operation) -> Json:
    success: Json = {'description': HTTPStatus(route.status).phrase}
    if route.status in (202, 302) and not about.answer:     # as Heat answers them
        success['content'] = {kind: {'schema': schema} for kind, schema in (
            ('application/json', _reference('Plain')), ('text/html', TEXT), ('text/plain', TEXT))}
    elif about.kind:
        success['content'] = {about.kind: {'schema': TEXT}}
    elif about.answer:
        success['content'] = {'application/json': {'schema': _reference(about.answer)}}
    headers = {**(LOCATION if route.status in (201, 302) else {}), **(ETAG if about.has_tag else {})}
    if headers:
        success['headers'] = headers
    fault = {'content': {'application/json': {'schema': _reference('Fault')}}}
    return {str(route.status): success,
            '401': {'description': 'No token, or one that is not valid',
                    'content': {'application/json': {'schema': _reference('Unauthorized')}}},
            '4XX': {'description': 'A mistake of the caller', **fault},
            '5XX': {'description': 'A fault of the service', **fault}}


class ApiDescription:
    """Serves the document. It is encoded at the first request: no identity is before it, and no limit of rates."""

    def __init__(self, table: Iterable[Route]) -> None:
        self._table = tuple(table)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        before, after = self._encoded
        url = json.dumps(webob.Request(environ).application_url).encode('ascii')
        answer: WSGIApplication = webob.Response(body=b''.join((before, url, after)),
                                                 content_type='application/json', charset=None)
        return answer(environ, start_response)

    @functools.cached_property
    def _encoded(self) -> tuple[bytes, bytes]:
        """The document before and after the URL of the server, which is that of the request."""
        before, _url, after = json.dumps(document(self._table, base=_SERVER)).encode('ascii').partition(
            json.dumps(_SERVER).encode('ascii'))
        return before, after
