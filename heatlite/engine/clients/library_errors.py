"""Makes the errors of our clients instances of the classes of OpenStack's client libraries, which plug-ins catch.

A plug-in writes `except neutron_exceptions.NotFound`. An error of our client gets that class as a further base class if
the module of the library has been imported in this process: only then can a plug-in name its classes. No library is
imported here.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

E = TypeVar('E', bound=BaseException)


@dataclass(frozen=True)
class ErrorModule:
    """Where a library's errors are, `module`. `base`: the class of an error whose status has no class of its own."""

    module: str
    base: str


_COMPUTE = (ErrorModule('novaclient.exceptions', 'ClientException'),)
_VOLUMES = (ErrorModule('cinderclient.exceptions', 'ClientException'),)
_STACKS = (ErrorModule('heatclient.exc', 'HTTPException'),)
_SHARES = (ErrorModule('manilaclient.exceptions', 'HttpError'),
           ErrorModule('manilaclient.common.apiclient.exceptions', 'HttpError'))
_WORKFLOWS = (ErrorModule('mistralclient.api.base', 'APIException'),)
_CONTAINERS = (ErrorModule('zunclient.exceptions', 'HttpError'),
               ErrorModule('zunclient.common.apiclient.exceptions', 'HttpError'))

# Keystone's is not here: the errors of keystoneclient are those of keystoneauth1, which our clients raise.
LIBRARIES: Mapping[str, tuple[ErrorModule, ...]] = {            # by the type of the service
    'alarming': (ErrorModule('aodhclient.exceptions', 'ClientException'),),
    'application-container': _CONTAINERS,
    'baremetal': (ErrorModule('ironicclient.exc', 'HttpError'),
                  ErrorModule('ironicclient.common.apiclient.exceptions', 'HttpError')),
    'block-storage': _VOLUMES,
    'cloudformation': _STACKS,
    'compute': _COMPUTE,
    'container': _CONTAINERS,
    'container-infra': (ErrorModule('magnumclient.exceptions', 'HttpError'),),
    'data-processing': (ErrorModule('saharaclient.api.base', 'APIException'),),
    'database': (ErrorModule('troveclient.exceptions', 'HttpError'),
                 ErrorModule('troveclient.apiclient.exceptions', 'HttpError')),
    'dns': (ErrorModule('designateclient.exceptions', 'RemoteError'),),
    'image': (ErrorModule('glanceclient.exc', 'HTTPException'),),
    'key-manager': (ErrorModule('barbicanclient.exceptions', 'HTTPError'),),
    'load-balancer': (ErrorModule('octaviaclient.api.exceptions', 'OctaviaClientException'),),
    'messaging': (ErrorModule('zaqarclient.transport.errors', 'TransportError'),),
    'metering': (ErrorModule('ceilometerclient.exc', 'HTTPException'),),
    'metric': (ErrorModule('gnocchiclient.exceptions', 'ClientException'),),
    'network': (ErrorModule('neutronclient.common.exceptions', 'NeutronClientException'),),
    'object-store': (ErrorModule('swiftclient.exceptions', 'ClientException'),),
    'orchestration': _STACKS,
    'share': _SHARES,
    'shared-file-system': _SHARES,
    'sharev2': _SHARES,
    'volume': _VOLUMES,
    'volumev2': _VOLUMES,
    'volumev3': _VOLUMES,
    'workflow': _WORKFLOWS,
    'workflowv2': _WORKFLOWS,
}

# Names that the libraries give to the classes of a status. Of several in one library the first is the narrowest.
NAMES: Mapping[int, tuple[str, ...]] = {
    400: ('HTTPBadRequest', 'BadRequest', 'MalformedRequest'),
    401: ('HTTPUnauthorized', 'Unauthorized', 'HTTPAuthError', 'UnauthorizedError'),
    403: ('HTTPForbidden', 'Forbidden', 'ForbiddenError'),
    404: ('HTTPNotFound', 'NotFound', 'ResourceNotFound'),
    405: ('HTTPMethodNotAllowed', 'MethodNotAllowed'),
    406: ('NotAcceptable',),
    408: ('RequestTimeout',),
    409: ('HTTPConflict', 'Conflict', 'ConflictError'),
    410: ('Gone',),
    411: ('LengthRequired',),
    412: ('PreconditionFailed',),
    413: ('HTTPOverLimit', 'OverLimit', 'RequestEntityTooLarge', 'OverQuota'),
    415: ('HTTPUnsupported', 'UnsupportedMediaType'),
    422: ('UnprocessableEntity',),
    429: ('RateLimit', 'TooManyRequests'),
    500: ('HTTPInternalServerError', 'InternalServerError'),
    501: ('HTTPNotImplemented', 'HttpNotImplemented', 'NotImplemented'),
    502: ('HTTPBadGateway', 'BadGateway'),
    503: ('HTTPServiceUnavailable', 'ServiceUnavailable', 'ServiceUnavailableError'),
    504: ('GatewayTimeout',),
}
BASE = '<base>'                 # stands for the base class of each library
NO_UNIQUE_MATCH = ('NeutronClientNoUniqueMatch', 'NoUniqueMatch')
_CLIENT_ERROR, _SERVER_ERROR = ('HTTPClientError',), ('HTTPServerError', 'HttpServerError')

# What plug-ins read of the errors of a library -> where our errors have it.
_ATTRIBUTES = {'code': 'http_status', 'status_code': 'http_status', 'error_code': 'http_status',
               'msg': 'message', 'error_message': 'message'}

_joint_classes: dict[tuple[type[BaseException], ...], type[BaseException]] = {}


def with_status(error: E, service_type: str | None, status: int, reported: str = '') -> E:
    """Return `error`, now also of each imported library's class for an HTTP status. `reported`: the service's own name
    of the error, for which Neutron's library has classes."""
    own = (f'{reported}Client',) if reported else ()
    wider = _CLIENT_ERROR if 400 <= status < 500 else _SERVER_ERROR if status >= 500 else ()
    _join(error, service_type, (*own, *NAMES.get(status, ()), *wider, BASE))
    return error


def no_unique_match(error: E, service_type: str | None) -> E:
    """Return `error`, now also of each imported library's class for a name that several things have."""
    _join(error, service_type, NO_UNIQUE_MATCH)
    return error


def classes_of(error: BaseException) -> tuple[type[BaseException], ...]:
    """Return the classes that were joined for an error; its only class if none were."""
    found: tuple[type[BaseException], ...] = getattr(type(error), '_joined_classes', (type(error),))
    return found


def _join(error: BaseException, service_type: str | None, names: tuple[str, ...]) -> None:
    """Give `error` the first class of each imported library that has one of `names`."""
    found = dict.fromkeys(_imported(service_type or '', names))
    missing = tuple(kind for kind in found if not isinstance(error, kind))
    if missing:
        with contextlib.suppress(TypeError):        # no class can have all these as bases: the error stays as it is
            error.__class__ = _joint_class((*classes_of(error), *missing))


def _imported(service_type: str, names: tuple[str, ...]) -> Iterator[type[BaseException]]:
    for library in LIBRARIES.get(service_type, ()):
        module = sys.modules.get(library.module)
        if module is not None:
            kind = _first(module, [library.base if name == BASE else name for name in names])
            if kind is not None:
                yield kind


def _first(module: ModuleType, names: Sequence[str]) -> type[BaseException] | None:
    for name in names:
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
    return None


def _joint_class(kinds: tuple[type[BaseException], ...]) -> type[BaseException]:
    """Return the class whose bases are `kinds`, made once. Raises TypeError if they cannot be bases of one class."""
    if kinds not in _joint_classes:
        _joint_classes[kinds] = _made(kinds)
    return _joint_classes[kinds]


def _made(kinds: tuple[type[BaseException], ...]) -> type[BaseException]:
    """Return a class with the name and the texts of the first one, as which its instances are pickled."""
    kind = kinds[0]

    def reduced(error: BaseException) -> tuple[object, ...]:
        function, arguments, *more = tuple(kind.__reduce__(error))
        parts = [kind if part is type(error) else part for part in arguments]
        return (kind if function is type(error) else function, tuple(parts), *more)

    attributes: dict[str, object] = {
        '__module__': kind.__module__, '__qualname__': kind.__qualname__, '__doc__': kind.__doc__,
        '__str__': kind.__str__, '__repr__': kind.__repr__, '__reduce__': reduced, '_joined_classes': kinds}
    if hasattr(kind, 'http_status'):
        attributes.update((name, property(operator.attrgetter(of))) for name, of in _ATTRIBUTES.items()
                          if not hasattr(kind, name))
    return type(kind.__name__, kinds, attributes)
