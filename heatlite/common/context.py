"""The request context: who asks, for which project, under which request id.

Travels over the wire with each message and is stored (secrets encrypted) with a stack. Field names on the
wire and older names plug-ins read: REST specification 2.2 and 12, plug-in specification 10.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from oslo_context import context

from heatlite.common import exception


class RequestContext(context.RequestContext):
    """`password` and `aws_creds` are never part of `to_log()`, and nothing prints the token."""

    # How to reach other services in the caller's name: given by the engine, the only room that does.
    clients_of: ClassVar[Callable[[Any], Any] | None] = None
    session_of: ClassVar[Callable[[Any], Any] | None] = None

    deadline: datetime | None = None        # UTC; when whoever asked gives up waiting

    FROM_DICT_EXTRA_KEYS = ['username', 'password', 'aws_creds', 'auth_url', 'trust_id', 'trustor_user_id',
                            'auth_token_info', 'region_name', 'is_admin']

    def __init__(self, username: str | None = None, password: str | None = None, aws_creds: Any = None,
                 auth_url: str | None = None, trust_id: str | None = None, trustor_user_id: str | None = None,
                 auth_token_info: Any = None, region_name: str | None = None, is_admin: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(is_admin=is_admin, **kwargs)
        self.username = username or self.user_name
        self.password = password
        self.aws_creds = aws_creds
        self.auth_url = auth_url
        self.trust_id = trust_id
        self.trustor_user_id = trustor_user_id
        self.auth_token_info = auth_token_info
        self.region_name = region_name

    @property
    def clients(self) -> Any:
        """The clients of other services that act for the caller (engine only)."""
        assert RequestContext.clients_of is not None, 'only an engine has clients'
        return RequestContext.clients_of(self)

    @property
    def keystone_session(self) -> Any:
        """A keystoneauth1 session that acts for the caller (engine only)."""
        assert RequestContext.session_of is not None, 'only an engine has clients'
        return RequestContext.session_of(self)

    @property
    def cloud_project_id(self) -> str | None:
        """The project as the cloud knows it (engine only): with no Keystone before the API, `project_id` is just a word
        in a path."""
        found: str | None = self.keystone_session.get_project_id()
        return found or self.project_id

    @property
    def auth_plugin(self) -> Any:
        return self.keystone_session.auth

    def check_in_time(self, now: datetime) -> None:
        """Raises TooLate. To be asked inside the transaction that accepts a request, once it has its locks.

        A message may lie for a while in a process that stands still. By then its sender has been told that it
        failed, and has perhaps been served otherwise: what he asked for first must not come last.
        """
        if self.deadline is not None and now > self.deadline:
            raise exception.TooLate

    @property
    def tenant_id(self) -> str | None:
        """The name older plug-ins read."""
        return self.project_id

    @property
    def tenant(self) -> str | None:
        """The name older plug-ins read: the project's name."""
        return self.project_name

    def to_dict(self) -> dict[str, Any]:
        values = super().to_dict()
        values.update(username=self.username, password=self.password, aws_creds=self.aws_creds,
                      auth_url=self.auth_url, trust_id=self.trust_id, trustor_user_id=self.trustor_user_id,
                      auth_token_info=self.auth_token_info, region_name=self.region_name)
        return values

    def to_log(self) -> dict[str, Any]:
        """What a log line may say of the caller."""
        return {'request_id': self.request_id, 'user_id': self.user_id, 'project_id': self.project_id}


def admin_context(project_id: str | None = None) -> RequestContext:
    """The service itself acting, for work nobody asked for over the API."""
    return RequestContext(is_admin=True, project_id=project_id, overwrite=False)
