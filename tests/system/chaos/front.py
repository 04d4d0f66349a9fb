"""What stands before the APIs of a cluster, and who they are asked by: HAProxy, Keystone and memcached."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tests.system.chaos.members import Keystone, Member
from tests.system.chaos.servers import CFN_PORT, FRONT_PORT, KEYSTONE_PORT, Servers
from tests.system.cluster import Cluster

PROXY, CACHE = 'front', 'memcached'         # as tools/services calls them
USER, OPERATOR = 'demo', 'admin'
SEALED = {'encrypt_parameters_and_properties': 'true'}
# Tokens are asked for again after a few seconds, so that Keystone is needed all the time.
TOKENS = {'token_cache_time': 10, 'memcache_security_strategy': 'ENCRYPT', 'memcache_secret_key': 'of the APIs'}
CONFIGURATION = """\
defaults
    mode http
    timeout connect 2s
    timeout client 75s
    timeout server 75s
    default-server inter 1s fall 2 rise 1
"""
BEFORE = """\
listen {name}
    bind 127.0.0.1:{port}
    option httpchk GET /
    http-check expect status 300
"""


class Front:
    def __init__(self, servers: Servers) -> None:
        """`servers`: with memcached."""
        self._servers = servers
        self.url, self.cfn_url = (f'http://127.0.0.1:{servers.port(port)}/v1/' for port in (FRONT_PORT, CFN_PORT))
        self.keystone = Keystone(servers.folder / 'keystone', servers.port(KEYSTONE_PORT), servers.port(FRONT_PORT))
        self.operator = Member(self.keystone.url, OPERATOR)

    def settings(self) -> dict[str, Any]:
        """Options of heatlite, as keyword arguments of Cluster."""
        found = {f'{section}__{name}' if section != 'DEFAULT' else name: value
                 for section, options in self.keystone.options().items() for name, value in options.items()}
        tokens = {'memcached_servers': self._servers.memcached, **TOKENS}
        return {**found, **SEALED, 'paste_deploy__flavor': '',
                **{f'keystone_authtoken__{name}': value for name, value in tokens.items()}}

    def member(self) -> Member:
        """One who sends requests as the user does, with tokens of his own."""
        return Member(self.keystone.url, USER)

    def open(self, cluster: Cluster) -> list[str]:
        """Begins to send requests to the APIs that there are; the URLs for users of the orchestration API."""
        parts = [CONFIGURATION]
        for name, url, behind in (('api', self.url, cluster.urls), ('cfn', self.cfn_url, cluster.cfn_urls)):
            parts += [BEFORE.format(name=name, port=urlsplit(url).port),
                      *(f'    server {name}{number} 127.0.0.1:{urlsplit(each).port} check\n'
                        for number, each in enumerate(behind, 1))]
        (self._servers.folder / 'front.cfg').write_text(''.join(parts))
        self._servers.start(PROXY)
        return [f'{self.url}{self.member().project_id}']

    def close(self) -> None:
        self.keystone.close()
