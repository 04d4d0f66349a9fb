"""heatlite-all with a simulated cloud in the same process: for first stacks with servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common.runtime import Runtime

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.common.http_server import HttpServer

USER, PROJECT, DOMAIN, REGION, PASSWORD = 'demo', 'demo', 'default', 'RegionOne', 'secret'

STACK_USERS = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
               'stack_domain_admin_password': PASSWORD}


def start(conf: ConfigOpts, runtime: Runtime, api_port: int, cfn_port: int,
          cloudwatch_port: int | None = None) -> tuple[HttpServer, str]:
    """Start the simulated cloud; return its server and URL.

    Its catalogue lists heatlite; its user demo owns the stacks. With `--auth keystone` its Keystone also authenticates
    the callers of heatlite.
    """
    import cloudsim
    server, url = cloudsim.serve(conf.cloud_port, runtime, outside={
        'orchestration': f'http://127.0.0.1:{api_port}/v1/%(project_id)s',
        'cloudformation': f'http://127.0.0.1:{cfn_port}/v1',
        **({} if cloudwatch_port is None else {'cloudwatch': f'http://127.0.0.1:{cloudwatch_port}/v1'})})
    _log_in_to_it_alone(login(url))
    for name, value in STACK_USERS.items():
        conf.set_override(name, value)
    if conf.auth == 'keystone':
        for group in ('keystone_authtoken', 'trustee'):
            _log_in(conf, group, url)
        conf.set_override('auth_uri', f'{url}/v3', group='clients_keystone')
    return server, url


def login(url: str) -> dict[str, str]:
    """Return the environment variables of a client."""
    return {'OS_AUTH_URL': f'{url}/v3', 'OS_USERNAME': USER, 'OS_PASSWORD': PASSWORD, 'OS_PROJECT_NAME': PROJECT,
            'OS_USER_DOMAIN_ID': DOMAIN, 'OS_PROJECT_DOMAIN_ID': DOMAIN, 'OS_REGION_NAME': REGION,
            'OS_IDENTITY_API_VERSION': '3'}


def _log_in_to_it_alone(login: Mapping[str, str]) -> None:
    """Remove what else the environment has for clients: OS_AUTH_TYPE and OS_CLOUD would choose another login.

    Names with two underscores, such as OS_ENGINE__TOPIC, are options of this program.
    """
    for name in [name for name in os.environ if name.startswith('OS_') and '__' not in name]:
        del os.environ[name]
    os.environ.update(login)


def _log_in(conf: ConfigOpts, group: str, url: str) -> None:
    """Set the service's own login: the administrator of the cloud."""
    from keystoneauth1 import loading
    loading.register_auth_conf_options(conf, group)
    conf.register_opts(loading.get_auth_plugin_conf_options('password'), group=group)
    values = {'auth_type': 'password', 'auth_url': f'{url}/v3', 'username': 'admin', 'password': PASSWORD,
              'user_domain_id': DOMAIN}
    if group == 'keystone_authtoken':
        from keystonemiddleware import opts
        for _group, found in opts.list_auth_token_opts():
            conf.register_opts(found, group=group)
        values |= {'project_name': 'admin', 'project_domain_id': DOMAIN, 'www_authenticate_uri': f'{url}/v3'}
    for name, value in values.items():
        conf.set_override(name, value, group=group)
