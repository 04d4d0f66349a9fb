"""The logins of the service itself: the user that trusts are made for, and the administrator of users inside stacks.

Each logs in once, and again when its token ends or is refused: a login for each stack would be most of what a create
asks Keystone for.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from keystoneauth1.identity import v3
from oslo_config import cfg

from heatlite.common import exception, log_throttle
from heatlite.engine.clients import logins, sessions

if TYPE_CHECKING:
    from keystoneauth1 import plugin

LOG = logging.getLogger(__name__)

DOMAIN_OPTIONS = '[DEFAULT] stack_domain_admin, stack_domain_admin_password'
LOGINS = 16                             # kept, of administrators at the Keystones of several regions


class OwnSession(sessions.SharedSession):
    """A session of a user of the service. Raises ServiceLoginRefused if Keystone refuses the login, whatever it is
    needed for: the caller has done nothing wrong."""

    def __init__(self, auth: plugin.BaseAuthPlugin, options: str, check: str) -> None:
        """`options`: where the login is configured; `check`: of doctor, which tests the login."""
        super().__init__(auth)
        self._options, self._check = options, check

    @contextlib.contextmanager
    def login_errors(self) -> Iterator[None]:
        try:
            with super().login_errors():
                yield
        except logins.LoginRefused as error:
            log_throttle.log(LOG, logging.WARNING, self._options, '%s: the service cannot log in at Keystone: %s; '
                             'heatlite-manage doctor --only %s shows more', self._options, error, self._check)
            raise exception.ServiceLoginRefused(options=self._options) from None


@functools.cache
def of_trustee() -> OwnSession:
    """Return the session of the service user in its own project. Raises AuthorizationFailure if nothing says who that
    is."""
    return OwnSession(sessions.service_plugin(), f'[{sessions.service_group()}]', 'keystone-trustee')


def of_domain_admin(auth_url: str) -> OwnSession:
    """Return the session of the administrator of the domain with the users inside stacks. `auth_url`: of Keystone, with
    /v3 at its end."""
    conf = cfg.CONF
    domain_id = conf.stack_user_domain_id or None
    return _of_domain_admin(auth_url, conf.stack_domain_admin, conf.stack_domain_admin_password, domain_id,
                            None if domain_id else conf.stack_user_domain_name)


@functools.lru_cache(LOGINS)
def _of_domain_admin(auth_url: str, name: str, password: str, domain_id: str | None,
                     domain_name: str | None) -> OwnSession:
    auth = v3.Password(auth_url=auth_url, username=name, password=password, domain_id=domain_id,
                       domain_name=domain_name, user_domain_id=domain_id, user_domain_name=domain_name)
    return OwnSession(auth, DOMAIN_OPTIONS, 'keystone-domain')


def forget() -> None:
    """Log in again at the next use."""
    of_trustee.cache_clear()
    _of_domain_admin.cache_clear()
