"""All errors of the service: text, HTTP code, CFN code and wire name in one place.

The wire name (`error.type` of a fault document) is the class name, or `wire_name`. `http_code` and `cfn_code` are
looked up on the class, so a subclass inherits both; no other module maps errors to status codes. Plug-ins subclass
`HeatException` and set `msg_fmt`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from heatlite.common.i18n import _

INTERNAL_FAILURE = 'InternalFailure'
INVALID_PARAMETER = 'InvalidParameterValue'
LONGEST_TEXT = 10_000               # characters of one error: it may quote a value as long as a request


class WireError(TypedDict, total=False):
    """An error as it is sent; one of another release may have fewer fields."""

    name: str
    bases: list[str]            # names of its base classes, the nearest first, for receivers of an older release
    message: str
    state: dict[str, object]    # the attributes that are JSON values (path, details...)


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """`text`, truncated if it has more than `most` characters, by default those of an error."""
    return text if len(text) <= most else f'{text[:most]}...'


class HeatException(Exception):
    """Base of the service's own errors. Subclasses set `msg_fmt`, with `%(name)s` for keyword arguments.

    `safe` errors show their message to clients; `error_code` adds the prefix `HEAT-E<code> `.
    """

    msg_fmt = _('An unknown exception occurred.')
    error_code: str | None = None
    http_code = 500
    cfn_code = INTERNAL_FAILURE
    wire_name: str | None = None                    # None: the class name
    safe = True
    public: str | None = None                       # what clients read instead of the message

    def __init__(self, **kwargs: object) -> None:
        self.kwargs: dict[str, object] = kwargs
        try:
            text = self.msg_fmt % kwargs if kwargs else self.msg_fmt
        except (KeyError, TypeError, ValueError):
            text = self.msg_fmt                     # wrong arguments must not hide the error itself
        text = shortened(text)
        self.message = f'HEAT-E{self.error_code} {text}' if self.error_code else text
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.__dict__.copy())


def _rebuild(cls: type[HeatException], message: str, state: dict[str, object]) -> HeatException:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class _OneMessage(HeatException):
    """Base of errors whose only argument is the finished text."""

    msg_fmt = '%(message)s'

    def __init__(self, message: object = '', **kwargs: object) -> None:
        super().__init__(message=message, **kwargs)


class Error(HeatException):
    """An error with free text, as plug-ins raise it; those written for Heat until 25 call the argument `msg`."""

    msg_fmt = '%(message)s'

    def __init__(self, message: object = '', *, msg: object = '') -> None:
        super().__init__(message=message or msg)


# --- 4xx by kind -----------------------------------------------------------------------------------------

class BadRequest(_OneMessage):
    http_code = 400
    cfn_code = INVALID_PARAMETER


class HTTPBadRequest(BadRequest):
    """A request that the API itself refuses; the wire name that clients see for malformed input."""


class InvalidField(HTTPBadRequest):
    """A field of a request body that is not what it must be. `expected`: a phrase."""

    wire_name = 'HTTPBadRequest'

    def __init__(self, name: str, expected: str, found: object) -> None:
        super().__init__(_('Invalid value for "%(name)s": expected %(expected)s, found %(found)r.')
                         % {'name': name, 'expected': expected, 'found': found})


class HTTPForbidden(_OneMessage):
    http_code = 403
    cfn_code = 'AccessDenied'


class HTTPNotFound(_OneMessage):
    http_code = 404


class HTTPMethodNotAllowed(_OneMessage):
    http_code = 405


class HTTPNotAcceptable(_OneMessage):
    http_code = 406


class HTTPServiceUnavailable(_OneMessage):
    http_code = 503
    cfn_code = 'ServiceUnavailable'


class EngineIsFull(HTTPServiceUnavailable):
    """Too many requests of the project wait in this engine. It has changed nothing; another one may have room."""


class ProjectMoves(HTTPServiceUnavailable):
    """The project is being moved to another cell, or has been since the request was sent. Nothing was changed; the same
    request is carried out, in one cell or the other, when it is sent again."""


class MessagingTimeout(HeatException):
    """No engine answered in time. The API changed nothing; an engine may still execute the message."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('No engine answered within %(seconds)s seconds.')


class AnswerLost(MessagingTimeout):
    """The broker went away while a message was under way: an engine may have executed it, or may execute it yet."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('The message broker went away before an engine answered. Whether the request was accepted is unknown.')


class OutcomeUnknown(MessagingTimeout):
    """An engine ended with the request, and it can no longer be found out whether it had accepted it."""

    msg_fmt = _('The engine that had the request has ended, and stack %(stack_name)s has accepted another one since. '
                'Whether the request was accepted is unknown.')


class NoEngine(HeatException):
    """No engine has a queue at the broker for the API's request."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('No engine is running: the message broker has no receiver for this request.')


class EngineTooOld(HeatException):
    """During an upgrade: the API is of a newer release than all engines it reached. `what`: a message, or its field."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('No engine of a release that knows "%(what)s" is running.')


class TooLate(HeatException):
    """The caller has stopped waiting, and may have sent another request since."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    msg_fmt = _('The request took too long; nothing was changed.')


class DatabaseUnavailable(HeatException):
    """The database is unavailable. `reason`: the driver's text, for the log only; it names users, hosts and files."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    public = _('The database cannot be reached.')
    msg_fmt = _('The database cannot be reached: %(reason)s')


class KeystoneUnavailable(HTTPServiceUnavailable):
    """Keystone does not validate tokens. `reason`: the library's text, for the log only; it names hosts."""

    public = _('The identity service cannot validate tokens.')

    def __init__(self, reason: str) -> None:
        super().__init__(_('The identity service cannot validate tokens: %s') % reason)


class ServiceLoginRefused(HTTPServiceUnavailable):
    """The identity service refuses a login of this service. `options`: those of the login, for operators."""

    def __init__(self, options: str) -> None:
        super().__init__(_('The identity service refuses the login of the orchestration service. Its operators have to '
                           'correct %s; the request may be sent again then.') % options)


class BrokerUnavailable(HeatException):
    """The broker is unavailable. `reason`: the library's text, for the log only; it names hosts and users."""

    http_code = 503
    cfn_code = 'ServiceUnavailable'
    public = _('The message broker cannot be reached.')
    msg_fmt = _('The message broker cannot be reached: %(reason)s')


class RemoteError(HeatException):
    """An error in an engine of a class not our own: its message stays in the engine's log, under the request id."""

    safe = False
    msg_fmt = _('The engine failed with %(type)s; its log has the details under the request id.')


class NotFound(HeatException):
    http_code = 404
    msg_fmt = '%(message)s'

    def __init__(self, msg_fmt: str = _('Not found'), **kwargs: object) -> None:
        self.msg_fmt = msg_fmt
        super().__init__(**kwargs)


class EntityNotFound(HeatException):
    http_code = 404
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The %(entity)s (%(name)s) could not be found.')


class ObjectUncomparable(Error):
    """An object is there, but not what its definition names, such as an image. Never an EntityNotFound, which says that
    the object itself is gone."""

    def __init__(self, name: str, reason: object) -> None:
        """`name`: of the resource."""
        super().__init__(_('The object of the resource %(name)s cannot be compared: %(reason)s')
                         % {'name': name, 'reason': reason})


class StackNotFound(EntityNotFound):
    """Older plug-ins catch it by this name; on the wire it is an EntityNotFound."""

    wire_name = 'EntityNotFound'

    def __init__(self, stack_name: str = '', **kwargs: object) -> None:
        super().__init__(entity='Stack', name=stack_name, **kwargs)


class ResourceNotFound(EntityNotFound):
    msg_fmt = _('The Resource (%(resource_name)s) could not be found in Stack %(stack_name)s.')


class SnapshotNotFound(EntityNotFound):
    cfn_code = INTERNAL_FAILURE
    msg_fmt = _('The Snapshot (%(snapshot)s) for Stack (%(stack)s) could not be found.')


class ResourceNotAvailable(HeatException):
    http_code = 404
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The Resource (%(resource_name)s) is not available.')


class Forbidden(HeatException):
    http_code = 403
    cfn_code = 'AccessDenied'
    msg_fmt = _('You are not authorized to use %(action)s.')

    def __init__(self, action: str = 'this action', **kwargs: object) -> None:
        super().__init__(action=action, **kwargs)


class StackExists(HeatException):
    http_code = 409
    cfn_code = 'AlreadyExists'
    msg_fmt = _('The Stack (%(stack_name)s) already exists.')


class ActionInProgress(HeatException):
    http_code = 409
    cfn_code = 'InvalidAction'
    msg_fmt = _('Stack %(stack_name)s already has an action (%(action)s) in progress.')


class StackProtected(HeatException):
    http_code = 409
    cfn_code = 'ValidationError'
    msg_fmt = _('Stack %(stack_name)s is protected: %(blocked)s.')


class StackLocked(HeatException):
    http_code = 409
    cfn_code = 'ValidationError'
    msg_fmt = _('Stack %(stack_name)s was locked by %(owner)s at %(at)s: %(reason)s')


class Conflict(_OneMessage):
    """A request that conflicts with the present state and may succeed later."""

    http_code = 409


class PreconditionFailed(HeatException):
    """The definition of the stack has none of the tags that the request names. `why`: a phrase."""

    http_code = 412
    cfn_code = 'ValidationError'
    msg_fmt = _('The ETag of stack %(stack_name)s is none of those in the header If-Match: %(why)s. Nothing was done. '
                'Read the stack again, and send the request with its present ETag if it is still what you want.')


class NotARefactor(HeatException):
    """A refactor that would change something. `differences`: what, one sentence for each."""

    http_code = 409
    cfn_code = 'ValidationError'
    msg_fmt = _('The refactor would change more than names and places: %(differences)s')


# --- the template and what belongs to it -----------------------------------------------------------------

class StackValidationFailed(HeatException):
    """`[<error>: ][<path>: ]<message>`; `path` is a list of names and positions, digits are written `[n]`.

    `details` are further lines (all diagnostics of a template, with places and hints), shown after the first line,
    which is the text that clients expect. `elsewhere`: the cause is not in the text of the template, such as a service
    that does not answer; no place in the template is reported then.
    """

    http_code = 400
    cfn_code = INVALID_PARAMETER

    def __init__(self, error: object = None, path: Iterable[object] | None = None, message: object = None,
                 resource: object = None, details: Iterable[str] = (), elsewhere: bool = False) -> None:
        self.elsewhere = elsewhere
        self.error = '' if error is None else str(error)
        self.path: list[object] = []
        if resource is not None:
            prefix = resource.stack.t.get_section_name('resources') if hasattr(resource, 'stack') else 'resources'
            self.path += [prefix, getattr(resource, 'name', resource)]
        if path is not None:
            self.path += [path] if isinstance(path, str) else list(path)
        self.error_message = '' if message is None else shortened(str(message))
        self.details = tuple(details)
        super().__init__()
        self.message = '\n'.join([self.first_line, *self.details])
        self.args = (self.message,)

    @property
    def first_line(self) -> str:
        return ': '.join(part for part in (self.error, path_text(self.path), self.error_message) if part)

    @property
    def wire_message(self) -> str:
        """The text for API answers, in Heat's format: heading and path are each followed by two colons, for which
        clients and the tests of Heat look."""
        first = ': : '.join(part for part in (self.error, path_text(self.path), self.error_message) if part)
        return '\n'.join([first, *self.details])


class InvalidProperty(StackValidationFailed, ValueError):
    """A property whose value is wrong or missing. Plug-ins written for Heat catch a ValueError where they read one."""

    wire_name = 'StackValidationFailed'


def path_text(parts: Iterable[object]) -> str:
    """`['resources', 'a', 'rules', 1, 'port']` -> `resources.a.rules[1].port`."""
    text = ''
    for part in parts:
        if len(text) > LONGEST_TEXT:
            return shortened(text)
        if isinstance(part, int) or (isinstance(part, str) and part.isdigit()):
            text += f'[{part}]'
        elif part:
            text += f'.{part}' if text else str(part)
    return text


class InvalidTemplateVersion(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The template version is invalid: %(explanation)s')


class InvalidTemplateSection(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The template section is invalid: %(section)s')


class InvalidTemplateReference(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The specified reference "%(resource)s" (in %(key)s) is incorrect.')


class InvalidTemplateAttribute(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The Referenced Attribute (%(resource)s %(key)s) is incorrect.')


class InvalidSchemaError(_OneMessage):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    hint: str | None = None         # what is allowed instead, where the message does not say it


class CircularDependencyException(HeatException):
    """A cycle of dependencies. `cycle`: its text, one resource after the other."""

    http_code = 400
    msg_fmt = _('Circular Dependency Found: %(cycle)s')


class UserParameterMissing(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The Parameter (%(key)s) was not provided.')


class UnknownUserParameter(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('The Parameter (%(key)s) was not defined in template.')


class ImmutableParameterModified(HeatException):
    http_code = 400
    msg_fmt = _('The following parameters are immutable and may not be updated: %(keys)s')

    def __init__(self, *names: str, **kwargs: object) -> None:
        if names:
            kwargs['keys'] = ', '.join(names)
        super().__init__(**kwargs)


class InvalidMergeStrategyForParam(HeatException):
    http_code = 400
    msg_fmt = _("Invalid merge strategy '%(strategy)s' for parameter '%(param)s'.")


class ConflictingMergeStrategyForParam(HeatException):
    http_code = 400
    msg_fmt = _("Conflicting merge strategy '%(strategy)s' for parameter '%(param)s' in file '%(env_file)s'.")


class InvalidRestrictedAction(HeatException):
    http_code = 400
    msg_fmt = '%(message)s'


class InvalidBreakPointHook(_OneMessage):
    http_code = 400
    cfn_code = INVALID_PARAMETER


class InvalidExternalResourceDependency(HeatException):
    http_code = 400
    msg_fmt = _('Invalid dependency with external %(resource_type)s resource: %(external_id)s')


class ImportFailed(HeatException):
    """An object cannot be imported into a resource, or objects into several."""

    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('Import of %(name)s (%(type)s): %(why)s.')


class TemplateOutputError(HeatException):
    http_code = 400
    msg_fmt = _('Error in %(resource)s output %(attribute)s: %(message)s')


class ResourceTypeUnavailable(HeatException):
    error_code = '99001'
    http_code = 400
    msg_fmt = _('Service %(service_name)s is not available for resource type %(resource_type)s, '
                'reason: %(reason)s')


class ResourcePropertyConflict(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('Cannot define the following properties at the same time: %(props)s.')

    def __init__(self, *names: str, **kwargs: object) -> None:
        if names:
            kwargs['props'] = ', '.join(names)
        super().__init__(**kwargs)


class PropertyUnspecifiedError(ResourcePropertyConflict):
    msg_fmt = _('At least one of the following properties must be specified: %(props)s.')


class ResourcePropertyDependency(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('%(prop1)s cannot be specified without %(prop2)s.')


class ResourcePropertyValueDependency(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('%(prop1)s property should only be specified for %(prop2)s with value %(value)s.')


# --- limits and refusals ---------------------------------------------------------------------------------

class RequestLimitExceeded(HeatException):
    http_code = 400
    cfn_code = 'RequestLimitExceeded'
    msg_fmt = _('Request limit exceeded: %(message)s')

    def __init__(self, message: object = '', **kwargs: object) -> None:
        super().__init__(message=message, **kwargs)


class LimitExceeded(RequestLimitExceeded):
    """A project has as many metrics or alarms as it may have."""

    cfn_code = 'LimitExceeded'
    msg_fmt = '%(message)s'


class StackGivenUp(HeatException):
    http_code = 409
    cfn_code = 'ResourceConflict'
    msg_fmt = _('Stack %(stack)s was given up: %(count)s engines ended while they executed it. '
                'An update or a delete tries it again.')


class DownloadLimitExceeded(HeatException):
    http_code = 400
    msg_fmt = _('Permissible download limit exceeded: %(message)s')


class StackResourceLimitExceeded(RequestLimitExceeded):
    wire_name = 'RequestLimitExceeded'

    def __init__(self, message: object = _('Maximum resources per stack exceeded.')) -> None:
        super().__init__(message)


class NotSupported(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('%(feature)s is not supported.')


class ResourceActionNotSupported(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('%(action)s is not supported for resource.')


class Invalid(HeatException):
    http_code = 400
    msg_fmt = _('Data supplied was not valid: %(reason)s')


class MissingCredentialError(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('Missing required credential: %(required)s')


class PhysicalResourceNameAmbiguity(HeatException):
    http_code = 400
    msg_fmt = _('Multiple physical resources were found with name (%(name)s).')


class PhysicalResourceIDAmbiguity(HeatException):
    http_code = 400
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('Multiple resources were found with the physical ID (%(phys_id)s).')


class PhysicalResourceExists(HeatException):
    http_code = 409
    msg_fmt = _('The physical resource for (%(name)s) exists.')


# --- identity and services -------------------------------------------------------------------------------

class AuthorizationFailure(HeatException):
    msg_fmt = _('Authorization failed.%(failure_reason)s')

    def __init__(self, failure_reason: object = '', **kwargs: object) -> None:
        super().__init__(failure_reason=f' {failure_reason}' if failure_reason else '', **kwargs)


class ProjectOutOfReach(Forbidden):
    """Of another project than that of the request."""
    msg_fmt = _('Keystone gives no token for project %(project)s: the token of the request is not valid any more, or '
                'its user has no role there. %(said)s')


class TokenNotExchangeable(ProjectOutOfReach):
    msg_fmt = _('Keystone gives no token for project %(project)s in exchange for that of the request, as for tokens of '
                'trusts, application credentials and EC2 keys: name a credential instead of a project. %(said)s')


class ClientNotAvailable(HeatException):
    msg_fmt = _('The client (%(client_name)s) is not available.')


class InvalidServiceVersion(HeatException):
    msg_fmt = _('Invalid service %(service)s version %(version)s')


class InvalidEncryptionKey(HeatException):
    msg_fmt = _('Can not decrypt data with the auth_encryption_key in heat config.')


class InvalidGlobalResource(HeatException):
    msg_fmt = _('There was an error loading the definition of the global resource type %(type_name)s.')


# --- resources at work -----------------------------------------------------------------------------------

class NestedFailure(HeatException):
    """A nested stack has failed: class name, path and message of the error in it."""

    def __init__(self, error: str, path: Iterable[object], message: str) -> None:
        self.error, self.path, self.error_message = error, list(path), message
        super().__init__()
        self.message = ': '.join(part for part in (error, path_text(self.path), message) if part)
        self.args = (self.message,)


class ResourceFailure(HeatException):
    """A failure of one resource, as it is passed up: `<class>: <path>: <message>`.

    `exception_or_error` is the error itself or a text; `.path` are the parts seen from the top stack.
    """

    def __init__(self, exception_or_error: object, resource: object, action: str | None = None) -> None:
        self.resource = resource
        self.action = action or getattr(resource, 'action', None)
        self.error: str
        self.error_message: str
        self.path: list[object]
        own_path: list[object] = []
        if resource is not None:
            own_path = ['resources', getattr(resource, 'name', str(resource))]
        self.exc: BaseException | None = None
        match exception_or_error:
            case ResourceFailure() as inner:
                self.exc, self.error, self.error_message = inner.exc, inner.error, inner.error_message
                self.path = own_path + list(inner.path)
            case NestedFailure() as inside:
                self.exc, self.error, self.error_message = inside, inside.error, inside.error_message
                self.path = own_path + list(inside.path)
            case StackValidationFailed() as invalid:
                # Clients expect the whole text of the error after the path of the resource.
                self.exc, self.error = invalid, 'StackValidationFailed'
                self.error_message, self.path = invalid.first_line, own_path
            case BaseException() as plain:
                self.exc, self.error = plain, type(plain).__name__
                self.error_message, self.path = str(plain), own_path
            case text:
                self.error, self.error_message, self.path = '', str(text), own_path
        super().__init__()
        self.message = ': '.join(part for part in (self.error, path_text(self.path), self.error_message) if part)
        self.args = (self.message,)


class UpdateReplace(Exception):
    """Raised by a type's update when the change needs a replacement."""

    def __init__(self, resource_name: str = 'Unknown') -> None:
        super().__init__(_('The Resource %s requires replacement.') % resource_name)


class NoActionRequired(Exception):
    """Raised by a signal handler that has nothing to do: no event is recorded."""

    def __init__(self, res_name: str = 'Unknown', reason: str = '') -> None:
        super().__init__(f'The resource {res_name} could not perform an action: {reason}')


class PollDelay(Exception):
    """Raised by a check: calls it again only at the n-th poll."""

    def __init__(self, period: int) -> None:
        if period < 1:
            raise ValueError(_('Poll delay must be at least 1'))
        self.period = period
        super().__init__(period)


class ResourceInError(HeatException):
    msg_fmt = _('Went to status %(resource_status)s due to "%(status_reason)s"')

    def __init__(self, status_reason: object = _('Unknown'), **kwargs: object) -> None:
        super().__init__(status_reason=status_reason, **kwargs)


class ResourceUnknownStatus(HeatException):
    msg_fmt = _('%(result)s - Unknown status %(resource_status)s due to "%(status_reason)s"')

    def __init__(self, result: object = _('Resource failed'), status_reason: object = _('Unknown'),
                 **kwargs: object) -> None:
        super().__init__(result=result, status_reason=status_reason, **kwargs)


class ResourceActionRestricted(HeatException):
    msg_fmt = _('%(action)s is restricted for resource.')


class InterfaceDetachFailed(HeatException):
    msg_fmt = _('Failed to detach interface (%(port)s) from server (%(server)s)')


# --- names that plug-ins of Heat import: heatlite raises none of them -----------------------------------------

class NotAuthorized(Forbidden):
    pass


class InvalidTenant(HeatException):
    http_code = 403
    cfn_code = INVALID_PARAMETER
    msg_fmt = _('Searching Tenant %(target)s from Tenant %(actual)s forbidden.')


class NotAuthenticated(HeatException):
    http_code = 401
    msg_fmt = _('You are not authenticated.')


class UpdateInProgress(Exception):
    def __init__(self, resource_name: str = 'Unknown') -> None:
        super().__init__(_('The resource %s is already being updated.') % resource_name)


class ConcurrentTransaction(HeatException):
    msg_fmt = _('Concurrent transaction for %(action)s')


class ActionNotComplete(HeatException):
    msg_fmt = _('Stack %(stack_name)s has an action (%(action)s) in progress or failed state.')


class StopActionFailed(HeatException):
    msg_fmt = _('Failed to stop stack (%(stack_name)s) on other engine (%(engine_id)s)')


class EventSendFailed(HeatException):
    msg_fmt = _('Failed to send message to stack (%(stack_name)s) on other engine (%(engine_id)s)')


class InterfaceAttachFailed(HeatException):
    msg_fmt = _('Failed to attach interface (%(port)s) to server (%(server)s)')


class UnableToAutoAllocateNetwork(HeatException):
    msg_fmt = _('Unable to automatically allocate a network: %(message)s')


class EgressRuleNotAllowed(HeatException):
    msg_fmt = _('Egress rules are only allowed when Neutron is used and the "VpcId" property is set.')


class ServerBuildFailed(HeatException):
    msg_fmt = _('Server %(server)s failed to build: %(reason)s')
