"""The request context: the caller, the project and the request id.

It is sent with each message and stored (secrets encrypted) with a stack. The context that a thread is bound to, and
the subject of its work, are in the log lines of the thread.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Callable, Iterator, MutableMapping
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from oslo_context import context

from heatlite.common import exception, turns
from heatlite.common.api_call import ApiCall
from heatlite.common.tracing import SpanContext

if TYPE_CHECKING:
    from keystoneauth1.access import AccessInfo
    from keystoneauth1.session import Session


class Subject(NamedTuple):
    """What a thread works for, as far as it is known. `resource`: the name of a resource of the stack; `path`: names of
    the root stack and of the resources that lead from it to a nested one, with slashes."""

    stack_id: str | None = None
    stack_name: str | None = None
    plan_id: str | None = None
    resource: str | None = None
    path: str | None = None

    @property
    def resource_path(self) -> str | None:
        """The names from the root stack to the resource."""
        within = self.path or self.stack_name or self.stack_id or ''
        return None if self.resource is None else f'{within}/{self.resource}'

    def logging_values(self) -> dict[str, str | None]:
        return {'stack_id': self.stack_id, 'stack_name': self.stack_name, 'resource_path': self.resource_path,
                'plan_id': self.plan_id}


UNKNOWN = Subject()
TOKEN_INFO = 'auth_token_info'          # attribute of a context, and name in access rules
_subject: ContextVar[Subject] = ContextVar('subject', default=UNKNOWN)
_masks: ContextVar[tuple[Callable[[str], str], ...]] = ContextVar('masks', default=())
MOST_MASKS = 50                 # stacks whose hidden values are kept out of the log lines of one request


class RequestContext(context.RequestContext):
    """The context of one request.

    `password` and `aws_creds` are never part of `get_logging_values()`; the token is masked.
    """

    # Makes the clients that act for the caller; installed by the engine, the only package that has clients.
    clients_of: ClassVar[Callable[[RequestContext], Any] | None] = None
    session_of: ClassVar[Callable[[RequestContext], Session] | None] = None

    deadline: datetime | None = None        # UTC; when the caller stops waiting
    drops_answer: bool = False              # the caller needs the end or the error of its calls, and no answer
    stack_project_id: str | None = None     # of the stack that a user inside it asks about; None for other callers
    call: ApiCall | None = None             # until it is accepted, of a request that may reach two engines

    FROM_DICT_EXTRA_KEYS = ['username', 'password', 'aws_creds', 'auth_url', 'trust_id', 'trustor_user_id',
                            'auth_token_info', 'region_name', 'is_admin']

    def __init__(self, username: str | None = None, password: str | None = None, aws_creds: object = None,
                 auth_url: str | None = None, trust_id: str | None = None, trustor_user_id: str | None = None,
                 auth_token_info: dict[str, object] | None = None, region_name: str | None = None,
                 is_admin: bool = False, trace: SpanContext | None = None, overwrite: bool = True,
                 **kwargs: Any) -> None:
        """`trace`: the span of the request, while traces are on; `overwrite`: log lines of this thread carry its ids
        from now on."""
        before, masks = context.get_current(), _masks.get()
        super().__init__(is_admin=is_admin, overwrite=False, **kwargs)
        if overwrite or before is None:             # the library binds the first one of a thread in any case
            bind(self if overwrite else None)
            if not overwrite:                       # the thread goes on with its work
                _masks.set(masks)
        self.username = username or self.user_name
        self.password = password
        self.aws_creds = aws_creds
        self.auth_url = auth_url
        self.trust_id = trust_id
        self.trustor_user_id = trustor_user_id
        self.auth_token_info = auth_token_info
        self.region_name = region_name
        self.trace = trace

    @property
    def clients(self) -> Any:
        """The clients of other services that act for the caller (engine only)."""
        assert RequestContext.clients_of is not None, 'only an engine has clients'
        return RequestContext.clients_of(self)

    @property
    def keystone_session(self) -> Session:
        """A keystoneauth1 session that acts for the caller (engine only)."""
        assert RequestContext.session_of is not None, 'only an engine has clients'
        return RequestContext.session_of(self)

    @property
    def cloud_project_id(self) -> str | None:
        """The project as the cloud knows it (engine only).

        Without Keystone before the API, `project_id` is just a part of a path.
        """
        found: str | None = self.keystone_session.get_project_id()
        return found or self.project_id

    def may_see(self, project_id: str, user_project_id: str | None = None) -> bool:
        """Whether the caller may see what belongs to a project; administrators may see everything.

        `user_project_id`: the project of the stack's own users, who access the stack from there.
        """
        return self.is_admin or (self.project_id is not None and self.project_id in (project_id, user_project_id))

    @property
    def share(self) -> str:
        """Whose share of the threads of an engine the request uses: its project's. The users inside all stacks of a
        project, who have a project for each tree of stacks, have one share together, beside that of the project."""
        if self.stack_project_id in (None, self.project_id):
            return self.project_id or ''
        return f'users inside {self.stack_project_id}'

    def owning_project(self) -> str:
        """Return the project to which new objects belong. Raises Forbidden without one."""
        if self.project_id is None:
            raise exception.Forbidden
        return self.project_id

    @property
    def own_token(self) -> str | None:
        """The token that the context was made with. heatlite reads this one: see `StoredContext`."""
        found: str | None = self.__dict__.get('auth_token')
        return found

    @property
    def auth_plugin(self) -> object:
        return self.keystone_session.auth

    def check_in_time(self, now: datetime) -> None:
        """Raise TooLate. Call it inside the transaction that accepts a request, once it holds its locks.

        A message may wait for long in a process that is frozen. By then its sender has reported a failure to the user,
        who may have sent another request: the older one must not be executed after the newer one.
        """
        if self.deadline is not None and now > self.deadline:
            raise exception.TooLate

    @property
    def tenant_id(self) -> str | None:
        """The project's id, under the name that older plug-ins read."""
        return self.project_id

    @property
    def tenant(self) -> str | None:
        """The project's name, under the name that older plug-ins read."""
        return self.project_name

    def to_policy_values(self) -> MutableMapping[str, object]:
        """Return what access rules may ask of the caller. Rules that were written for Heat use the last four names."""
        return {**super().to_policy_values(), 'user': self.user_id, 'tenant': self.project_id,
                'is_admin': self.is_admin, TOKEN_INFO: self.__dict__.get(TOKEN_INFO)}

    def to_dict(self) -> dict[str, object]:
        values = super().to_dict()
        values.update(username=self.username, password=self.password, aws_creds=self.aws_creds,
                      auth_url=self.auth_url, trust_id=self.trust_id, trustor_user_id=self.trustor_user_id,
                      auth_token_info=self.auth_token_info, region_name=self.region_name)
        return values

    def get_logging_values(self) -> dict[str, object]:
        """Return the names and ids that log lines may contain, under the names that formats of oslo.log use."""
        return {'request_id': self.request_id, 'global_request_id': self.global_request_id,
                'user_id': self.user_id, 'user': self.user_id, 'user_name': self.username,
                'project_id': self.project_id, 'project': self.project_id, 'tenant': self.project_id,
                'project_name': self.project_name, 'domain': self.domain_id, 'domain_name': self.domain_name,
                'user_domain': self.user_domain_id, 'user_domain_name': self.user_domain_name,
                'project_domain': self.project_domain_id, 'project_domain_name': self.project_domain_name,
                'is_admin': self.is_admin, 'resource_uuid': self.resource_uuid, 'roles': self.roles,
                'system_scope': self.system_scope, 'auth_token': '***' if self.own_token else None}

    def of_request(self, request_id: str, global_request_id: str | None = None,
                   trace: SpanContext | None = None) -> RequestContext:
        """Return the same caller in another request: this context when the ids are equal, else a copy."""
        if (request_id, global_request_id, trace) == (self.request_id, self.global_request_id, self.trace):
            return self
        found = copy.copy(self)
        found.request_id, found.global_request_id, found.trace = request_id, global_request_id, trace
        found.__dict__.pop('_clients', None)        # they refer to the context they were made for; a session does not
        return found

    @contextlib.contextmanager
    def bound(self, subject: Subject = UNKNOWN, mask: Callable[[str], str] | None = None) -> Iterator[None]:
        """As `bind`, until the end of the block."""
        before, of_before, masks = context.get_current(), _subject.get(), _masks.get()
        bind(self, subject, mask)
        try:
            yield
        finally:
            bind(before, of_before)
            _masks.set(masks)


class StoredContext(RequestContext):
    """The stored credentials of a stack (engine only).

    Without a stored token, plug-ins that read `auth_token` or `auth_token_info` get those of the session, which logs in
    with the trust or the password. They are not sent or stored with the context."""

    @property
    def auth_token(self) -> str | None:
        return self.keystone_session.get_token() if self._acts_by_session else self.own_token

    @auth_token.setter
    def auth_token(self, value: str | None) -> None:
        self.__dict__['auth_token'] = value

    @property
    def auth_token_info(self) -> dict[str, object] | None:
        if not self._acts_by_session:
            found: dict[str, object] | None = self.__dict__.get('auth_token_info')
            return found
        auth = self.keystone_session.auth
        state = auth.get_auth_state() if auth is not None and self.auth_token else None
        return json.loads(state)['body'] if isinstance(state, str) else None

    @auth_token_info.setter
    def auth_token_info(self, value: dict[str, object] | None) -> None:
        self.__dict__['auth_token_info'] = value

    @property
    def _acts_by_session(self) -> bool:
        return self.own_token is None and bool(self.trust_id or self.password)

    @functools.cached_property
    def as_logged_in(self) -> RequestContext:
        """The caller as Keystone describes the login with which the stack acts: what access rules ask for, such as
        roles and domains, is not stored. Asks Keystone once, and raises its errors."""
        found, access = copy.copy(self), self._access()
        found.roles = list(access.role_names or ())
        for name in ('user_id', 'user_domain_id', 'project_id', 'project_domain_id', 'domain_id'):
            setattr(found, name, getattr(access, name))
        found.user_domain_name, found.project_domain_name = access.user_domain_name, access.project_domain_name
        found.is_admin_project = bool(access.is_admin_project)
        found.auth_token_info = getattr(access, '_data', None)        # its body; the library has no other way to it
        found.system_scope = 'all' if access.system_scoped else None
        return found

    def _access(self) -> AccessInfo:
        session = self.keystone_session
        session.get_token()                     # with the errors of logins; the plug-in has the answer then
        ask: Callable[[Session], AccessInfo] = getattr(session.auth, 'get_access')      # noqa: B009 - not of its base
        return ask(session)

    @property
    def can_log_in(self) -> bool:
        return bool(self.own_token or self.trust_id or self.password)

    def to_dict(self) -> dict[str, object]:
        own = copy.copy(self)
        own.trust_id = own.password = None              # nothing to log in with
        return {**super(StoredContext, own).to_dict(), 'trust_id': self.trust_id, 'password': self.password}


def bind(found: context.RequestContext | None, subject: Subject = UNKNOWN,
         mask: Callable[[str], str] | None = None) -> None:
    """Make log lines of this thread carry the ids of `found` and of `subject` from now on; None: of no request.

    `mask(text)`: the text without hidden values of the stack for which the thread works now."""
    _masks.set((mask,) if mask is not None else ())
    _subject.set(subject)
    if found is not None:
        found.update_store()
    elif context.get_current() is not None:
        del context._request_store.context


def subject() -> Subject:
    """Return what this thread works for, as far as it is known."""
    return _subject.get()


def note(**known: str | None) -> None:
    """Add fields of Subject that this thread has found out. Only what exists and the caller may see: log lines that
    are searched for by these ids must not lie."""
    _subject.set(_subject.get()._replace(**known))


def hide(mask: Callable[[str], str]) -> None:
    """Keep hidden values of one more stack, which this thread has read for its work, out of its log lines. Of more
    than MOST_MASKS it keeps the first, that of the outermost stack, and the last ones."""
    known = _masks.get()
    _masks.set((*known[:1], *known[1:][-(MOST_MASKS - 2):], mask))


def mask_of_thread() -> Callable[[str], str]:
    """Return what hides the hidden values of this thread in the log lines of another one, which works for it."""
    found = _masks.get()
    return lambda text: _masked(text, found)


def masked(text: str) -> str:
    """Return the text as a log line of this thread may have it. All code may log an error of a service or a type, which
    quotes what it was given; so this is done where lines are made. Never raises."""
    return _masked(text, _masks.get())


def _masked(text: str, masks: tuple[Callable[[str], str], ...]) -> str:
    """Mask a text without a switch of green threads: code logs where it relies on that, and the handler holds a lock.
    The same holds for its end at a deadline, which may be what the line is about."""
    if not masks:
        return text
    with turns.undisturbed():
        for mask in masks:
            try:
                text = mask(text)
            except Exception as error:          # of a document that is wrong: what it hides is unknown
                return f'(left out: hidden values of the stack cannot be read, {type(error).__name__})'
    return text


@contextlib.contextmanager
def working_on(resource: str) -> Iterator[None]:
    """Make log lines of this thread carry the name of this resource of its stack until the end of the block."""
    before = _subject.get()
    _subject.set(before._replace(resource=resource))
    try:
        yield
    finally:
        _subject.set(before)


def admin_context(project_id: str | None = None) -> RequestContext:
    """Return a context for actions of the service itself, with the ids of the request that this thread works for, if
    any."""
    of = context.get_current()
    return RequestContext(is_admin=True, project_id=project_id, overwrite=False,
                          request_id=of.request_id if of is not None else None,
                          global_request_id=of.global_request_id if of is not None else None)
