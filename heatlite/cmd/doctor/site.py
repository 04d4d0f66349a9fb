"""What the checks examine: the options, and connections that are made as the service makes them, with time-outs."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatlite.common import netutils
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from keystoneauth1.plugin import BaseAuthPlugin
    from keystoneauth1.session import Session
    from oslo_config.cfg import ConfigOpts

    from heatlite.db.connection import Database

@dataclass
class Site:
    """`conf`: the options of this process (cfg.CONF), with those of all libraries. `timeout`: seconds without a reply
    after which a connection counts as broken. `now()`: seconds since 1970, by the clock of this host."""

    conf: ConfigOpts
    timeout: float
    now: Callable[[], float]

    @functools.cached_property
    def database(self) -> Database:
        """Raise Error for an unset or wrong URL. Connects at first use."""
        from heatlite.db.connection import OPTIONS, Database, url_of
        url = url_of(self.conf)
        options = {name: self.conf.database[name] for name in OPTIONS}
        return Database(with_timeouts(url, self.timeout), **options)

    @functools.cached_property
    def service(self) -> Session:
        """A session of the user that acts for others: [trustee], or [keystone_authtoken]."""
        from heatlite.common import config
        from heatlite.engine.clients import sessions
        return self._session(sessions.service_plugin(), **config.get_ssl_options('keystone'))

    @functools.cached_property
    def authtoken(self) -> Session:
        """A session of the user that validates tokens. Raises ValueError without one."""
        from keystoneauth1 import loading

        from heatlite.common import config
        plugin = loading.load_auth_from_conf_options(self.conf, 'keystone_authtoken')
        if plugin is None:
            raise ValueError(_('The option [keystone_authtoken] auth_type is not set.'))
        given = self.conf.keystone_authtoken
        certificate = (given.certfile, given.keyfile) if given.certfile and given.keyfile else given.certfile
        return self._session(plugin, verify=config.verification(given.insecure, given.cafile), cert=certificate)

    @functools.cached_property
    def domain_admin(self) -> Session:
        """A session of the administrator of the domain of users inside stacks, scoped to that domain."""
        from keystoneauth1.identity import v3

        from heatlite.common import config
        conf = self.conf
        key, value = (('id', conf.stack_user_domain_id) if conf.stack_user_domain_id
                      else ('name', conf.stack_user_domain_name))
        return self._session(v3.Password(
            auth_url=self.keystone_url, username=conf.stack_domain_admin, password=conf.stack_domain_admin_password,
            **{f'user_domain_{key}': value, f'domain_{key}': value}), **config.get_ssl_options('keystone'))

    @property
    def keystone_url(self) -> str:
        """Keystone as the service reaches it, with /v3 at its end. Raises AuthorizationFailure when nothing says it."""
        from heatlite.common.context import RequestContext
        from heatlite.engine.clients import sessions
        return netutils.keystone_v3(sessions.auth_url(RequestContext()))

    def _session(self, plugin: BaseAuthPlugin, verify: bool | str | None = True,
                 cert: str | tuple[str, str] | None = None) -> Session:
        from keystoneauth1 import session
        return session.Session(auth=plugin, timeout=self.timeout, app_name='heatlite', verify=verify, cert=cert)

    def connect(self, host: str, port: int) -> str:
        """Why no TCP connection can be made; '' if one can."""
        try:
            with closing(socket.create_connection((host, port), timeout=self.timeout)):
                return ''
        except OSError as error:
            return f'{host}:{port}: {error.strerror or error}'


def with_timeouts(url: str, seconds: float) -> str:
    """Return the URL of a database with time-outs for connecting and, on MySQL, for each answer. Raises Error."""
    from heatlite.db.connection import parsed_url
    made = parsed_url(url)
    whole = str(max(round(seconds), 1))
    given: dict[str, str] = {
        'mysql': dict.fromkeys(('connect_timeout', 'read_timeout', 'write_timeout'), whole),
        'postgresql': {'connect_timeout': whole},      # proxies refuse `options`, with which it has one for answers
    }.get(made.get_backend_name(), {})
    return made.update_query_dict({**given, **made.query}).render_as_string(hide_password=False)
