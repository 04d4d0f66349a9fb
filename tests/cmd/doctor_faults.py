"""Faults that `heatlite-manage doctor` must find without any service: one row each, with the check that finds it.

`{folder}` stands for the folder of the test, `{port}` for a port that another program has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FAILED, WARNING = 'FAILED', 'warning'
KEY = '0123456789abcdef0123456789abcdef'


@dataclass(frozen=True)
class Fault:
    """`options`: GROUP.NAME -> value, over those of a healthy configuration. `files`: path below the folder -> text.
    `modes`: path -> mode. `says`: words of what is found or of the fix."""

    name: str
    check: str
    says: Sequence[str]
    options: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)
    level: str = FAILED


BROKEN_PLUGIN = """
from heat.engine import resource
import a_package_that_does_not_exist
"""
TYPE = """
from heat.engine import resource


class Lamp(resource.Resource):
    properties_schema = {}


def resource_mapping():
    return {'Acme::Lamp': Lamp}
"""

EAST = {'cells.names': 'east', 'cell_east.connection': 'sqlite:///{folder}/good.sqlite',
        'cell_east.transport_url': 'fake://'}

FAULTS = (
    # the options
    Fault('an option that does not exist', 'configuration', ['sweep_intervall', 'did you mean sweep_interval'],
          {'engine.sweep_intervall': '1'}, level=WARNING),
    Fault('a login that does not exist', 'configuration', ['[trustee] auth_type "passwort" is not known'],
          {'trustee.auth_type': 'passwort'}),
    Fault('a Keystone without a login', 'keystone-url', [
        '[keystone_authtoken] auth_url is never read: auth_type is not set', 'Set [keystone_authtoken] auth_type'],
        {'paste_deploy.flavor': '', 'keystone_authtoken.auth_url': 'http://127.0.0.1:1/v3',
         'database.connection': 'mysql+pymysql://ann:hidden@127.0.0.1:1/heatlite'}),
    Fault('a trustee without a login', 'configuration', [
        '[trustee] auth_url is never read', 'Set [trustee] auth_type = password'],
        {'trustee.auth_url': 'http://127.0.0.1:1/v3'}, level=WARNING),
    Fault('a certificate that cannot be read', 'configuration', [
        'heatlite.conf:', '[heat_api] cert_file: {folder}/none.pem cannot be read', 'chmod'],
        {'heat_api.cert_file': '{folder}/none.pem'}),
    Fault('prices that are not there', 'configuration', ['[plans] prices: {folder}/none.yaml', 'chmod'],
          {'plans.prices': '{folder}/none.yaml'}),
    Fault('a class of clients that cannot be loaded', 'configuration', ['cloud_backend', 'no_such_module'],
          {'DEFAULT.cloud_backend': 'no_such_module.Clients'}),
    Fault('rules for plans that cannot be read', 'configuration', ['{folder}/rules.yaml'],
          {'plan_policies.rules_file': '{folder}/rules.yaml'}, {'rules.yaml': 'rules: 5'}),
    Fault('prices that cannot be read', 'configuration', ['{folder}/prices.yaml'],
          {'plans.prices': '{folder}/prices.yaml'}, {'prices.yaml': '- nothing'}),
    Fault('passwords that everybody may read', 'configuration', ['heatlite.conf has passwords'],
          modes={'heatlite.conf': 0o644}, level=WARNING),
    Fault('no key', 'encryption-key', ['auth_encryption_key', 'openssl rand -hex 16'],
          {'DEFAULT.auth_encryption_key': ''}),
    Fault('a key manager that is not there', 'key-manager', ['auth_encryption_key_id', 'a-secret', '[key_manager]'],
          {'DEFAULT.auth_encryption_key': '', 'DEFAULT.auth_encryption_key_id': 'a-secret',
           'key_manager.auth_type': 'keystone_password', 'key_manager.auth_url': 'http://127.0.0.1:1/v3',
           'key_manager.username': 'u', 'key_manager.password': 'p'}),
    Fault('a key that is too short', 'encryption-key', ['has 5 characters'], {'DEFAULT.auth_encryption_key': 'short'}),
    Fault('leases that end between two sweeps', 'limits', ['lease_ttl 1', 'sweep_interval 5'],
          {'engine.lease_ttl': '1', 'engine.sweep_interval': '5'}, level=WARNING),
    Fault('a template that does not fit into a request', 'limits', ['max_json_body_size 1000'],
          {'DEFAULT.max_json_body_size': '1000'}, level=WARNING),
    Fault('answers that come after the time-out', 'limits', ['rpc_response_timeout 5'],
          {'DEFAULT.rpc_response_timeout': '5'}, level=WARNING),
    Fault('streams that are closed when they are silent', 'limits', ['heartbeat 15, client_socket_timeout 10'],
          {'heat_api.client_socket_timeout': '10'}, level=WARNING),
    # files and folders
    Fault('a folder of environments that is gone', 'folders', ['{folder}/gone', 'mkdir -p'],
          {'DEFAULT.environment_dir': '{folder}/gone'}),
    Fault('a plug-in that everybody may change', 'permissions', ['chmod o-w {folder}/plugins/lamp.py'],
          files={'plugins/lamp.py': TYPE}, modes={'plugins/lamp.py': 0o646}),
    Fault('a folder of plug-ins that everybody may change', 'permissions', ['chmod o-w {folder}/plugins'],
          files={'plugins/lamp.py': TYPE}, modes={'plugins': 0o777}),
    Fault('no folder for locks', 'lock-path', ['{folder}/file/locks', 'lock_path = /run/heatlite/locks'],
          {'oslo_messaging_rabbit.use_queue_manager': 'true', 'oslo_concurrency.lock_path': '{folder}/file/locks'},
          {'file': ''}),
    Fault('a file with authorities that has none', 'authorities', ['{folder}/ca.pem', '[clients] ca_file'],
          {'clients.ca_file': '{folder}/ca.pem'}, {'ca.pem': 'nothing'}),
    Fault('authorities of one of several Keystones', 'authorities', [
        '{folder}/gone.pem', '[ec2authtoken.north] ca_file'], {
        'ec2authtoken.clouds': 'north', 'ec2authtoken.north.ca_file': '{folder}/gone.pem'}),
    Fault('a certificate that is not there', 'certificates', ['{folder}/none.pem', 'cannot be read'],
          {'heat_api.cert_file': '{folder}/none.pem', 'heat_api.key_file': '{folder}/key.pem'}),
    Fault('the key of another certificate', 'certificates', ['{folder}/valid.pem', 'mismatch'],
          {'heat_api.cert_file': '{folder}/valid.pem', 'heat_api.key_file': '{folder}/other-key.pem'}),
    Fault('a certificate that has expired', 'certificates', ['CN=expired', 'expires at', 'Renew'],
          {'heat_api.cert_file': '{folder}/expired.pem', 'heat_api.key_file': '{folder}/expired-key.pem'}),
    Fault('a certificate that will expire', 'certificates', ['CN=soon', 'expires at', 'Renew'],
          {'heat_api_cfn.cert_file': '{folder}/soon.pem', 'heat_api_cfn.key_file': '{folder}/soon-key.pem'},
          level=WARNING),
    Fault('a port that another program has', 'ports', ['Another program listens there', 'ss -ltnp'],
          {'heat_api.bind_port': '{port}'}),
    Fault('one port for two APIs', 'ports', ['[heat_api] bind_port and [heat_api_cfn] bind_port'],
          {'heat_api.bind_port': '18999', 'heat_api_cfn.bind_port': '18999'}),
    Fault('an address that this host does not have', 'ports', ['Cannot assign requested address'],
          {'heat_api.bind_host': '192.0.2.1'}),
    Fault('a port of figures that an API has', 'ports', ['[heat_api] bind_port and [metrics] engine_port'],
          {'heat_api.bind_port': '18999', 'metrics.engine_port': '18999'}),
    Fault('a private key that everybody may read', 'private-keys', ['chmod 600 {folder}/public-key.pem'], {
        'heat_api.cert_file': '{folder}/valid.pem', 'heat_api.key_file': '{folder}/public-key.pem'},
        {'public-key.pem': 'a key'}, {'public-key.pem': 0o644}, WARNING),
    # what operators add
    Fault('a folder of plug-ins that is gone', 'plug-ins', ['There is no {folder}/gone'],
          {'DEFAULT.plugin_dirs': '{folder}/gone'}, level=WARNING),
    Fault('a plug-in that cannot be imported', 'plug-ins', [
        '{folder}/plugins/broken_lamp.py', 'a_package_that_does_not_exist', 'line 3'],
        files={'plugins/broken_lamp.py': BROKEN_PLUGIN}),
    Fault('a plug-in with a misspelt method', 'plug-ins', [
        '{folder}/plugins/lamp.py: Acme::Lamp: Lamp.handle_creat is never used: did you mean handle_create?'],
        files={'plugins/lamp.py': TYPE.replace('    properties', '    handle_creat = print\n    properties')},
        level=WARNING),
    Fault('an environment that is no YAML', 'plug-ins', ['{folder}/environments/all.yaml', (
        "EnvironmentError: while parsing a flow node expected the node content, but found '<stream end>', line 1, "
        'column ')],
          files={'environments/all.yaml': 'resource_registry: ['}),
    Fault('access rules that are no YAML', 'policy', ['{folder}/policy.yaml can be read'],
          {'oslo_policy.policy_file': '{folder}/policy.yaml'}, {'policy.yaml': '"stacks:index": ["'}),
    Fault('access rules that are a list', 'policy', ['{folder}/policy.yaml:1: is a list'],
          {'oslo_policy.policy_file': '{folder}/policy.yaml'}, {'policy.yaml': '- "stacks:index"'}),
    Fault('an access rule that cannot be parsed', 'policy', ['stacks:index', 'refuses all requests'],
          {'oslo_policy.policy_file': '{folder}/policy.yaml'}, {'policy.yaml': '"stacks:index": "role:admin and"'}),
    Fault('an access rule of nothing', 'policy', ['There is no rule "stacks:indecks"; did you mean stacks:index?'],
          {'oslo_policy.policy_file': '{folder}/policy.yaml'}, {'policy.yaml': '"stacks:indecks": "role:admin"'},
          level=WARNING),
    Fault('a file of access rules that is gone', 'policy', ['There is no {folder}/none.yaml'],
          {'oslo_policy.policy_file': '{folder}/none.yaml'}),
    # the database, as a file
    Fault('no database', 'database-login', ['There is no {folder}/none.sqlite', 'db_sync'],
          {'database.connection': 'sqlite:///{folder}/none.sqlite'}),
    Fault('a database that is not named', 'database-login', ['[database] connection'], {'database.connection': ''}),
    Fault('a database without tables', 'database-schema', ['There are no tables', 'heatlite-manage db_sync'],
          {'database.connection': 'sqlite:///{folder}/empty.sqlite'}),
    Fault('a database of an earlier release', 'database-schema', ['They have version 0001', 'db_sync'],
          {'database.connection': 'sqlite:///{folder}/old.sqlite'}),
    Fault('a database of the next release', 'database-schema',
          ['version 9999, of a newer release', 'works with it while hosts are upgraded', 'upgrade.rst'],
          {'database.connection': 'sqlite:///{folder}/new.sqlite'}, level=WARNING),
    Fault('a database of a much later release', 'database-schema',
          ['version 9999, of a newer release', 'lack stack.tags, guard.lock', 'too old for the database'],
          {'database.connection': 'sqlite:///{folder}/far.sqlite'}),
    Fault('the key of another database', 'database-key', ['encrypted with another key', 'auth_decryption_keys'],
          {'DEFAULT.auth_encryption_key': 'x' * 32}),
    # services that do not answer
    Fault('a memcached that is down', 'memcached', ['127.0.0.1:1', 'Connection refused'],
          {'keystone_authtoken.memcached_servers': '127.0.0.1:1'}, level=WARNING),
    Fault('a server of rules that is down', 'policy-servers', ['127.0.0.1:1', '[plan_policies] servers'],
          {'plan_policies.servers': 'http://127.0.0.1:1/rules'}),
    Fault('a broker that is down', 'broker-hosts', ['127.0.0.1:1: Connection refused', 'transport_url'],
          {'DEFAULT.transport_url': 'rabbit://ann:hidden@127.0.0.1:1/'}),
    Fault('a bus for notifications that is down', 'broker-notifications', ['127.0.0.1:1: Connection refused'],
          {'oslo_messaging_notifications.driver': 'messagingv2',
           'oslo_messaging_notifications.transport_url': 'rabbit://ann:hidden@127.0.0.1:1/'}),
    # other cells
    Fault('a cell with the name of the home cell', 'cells', ['"home" is no name of another cell'],
          {'cells.names': 'home'}),
    Fault('a cell without a database', 'cells', ['[cell_east]', 'connection is not set'],
          {**EAST, 'cell_east.connection': ''}),
    Fault('a cell of an earlier release', 'cell-databases', ['Cell "east"', 'They have version 0001', 'db_sync'],
          {**EAST, 'cell_east.connection': 'sqlite:///{folder}/old.sqlite'}),
    Fault('a cell whose database is down', 'cell-databases', ['Cell "east"', '[cell_east] connection'],
          {**EAST, 'cell_east.connection': 'mysql+pymysql://ann:hidden@127.0.0.1:1/heatlite'}),
    Fault('a cell with another key', 'cell-databases', ['Cell "east"', 'encrypted with another key'],
          {**EAST, 'DEFAULT.auth_encryption_key': 'x' * 32}),
    Fault('a cell whose broker is down', 'cell-brokers', ['Cell "east"', '127.0.0.1:1: Connection refused'],
          {**EAST, 'cell_east.transport_url': 'rabbit://ann:hidden@127.0.0.1:1/'}),
)
