"""Faults of a production profile that `heatlite-manage doctor` must find: one row each, with the check that finds it.

Texts in braces stand for what the test arranges, see tests/system/test_doctor.py: `{port}` is a closed port, `{silent}`
one that accepts connections and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FAILED, WARNING = 'FAILED', 'warning'


@dataclass(frozen=True)
class Fault:
    """`options`: GROUP.NAME -> value, by --set. `checks`: those that find it, the first with words of `says`."""

    name: str
    checks: Sequence[str]
    says: Sequence[str]
    options: Mapping[str, str]
    level: str = FAILED


def database(name: str, check: str, says: Sequence[str], url: str, level: str = FAILED) -> Fault:
    return Fault(name, [check], says, {'database.connection': url}, level)


FAULTS = (
    # the database
    database('a database server that is down', 'database-host', ['{host}:{port}: Connection refused', 'Start'],
             'mysql+pymysql://heatlite:heatlite@{host}:{port}/x'),
    database('a database server that says nothing', 'database-login', ['[database] connection'],
             'mysql+pymysql://heatlite:heatlite@{host}:{silent}/x'),
    database('the wrong password of the database', 'database-login', ['Access denied', 'GRANT'], '{wrong_password}'),
    database('a database that does not exist', 'database-login', ['Unknown database', 'CREATE DATABASE'],
             '{no_database}'),
    database('a user that may only read and write', 'database-rights', ['CREATE, DROP, ALTER, INDEX', 'GRANT ALL'],
             '{reader}'),
    database('a character set without all characters', 'database-storage', ['charset=utf8', 'Remove charset'],
             '{utf8}'),
    database('a table with another collation', 'database-storage', ['stack_tag', 'utf8mb4_general_ci', 'ALTER TABLE'],
             '{collation}'),
    database('a table without transactions', 'database-storage', ['MyISAM', 'ENGINE=InnoDB'], '{myisam}'),
    database('a database server with another clock', 'database-clock', ['behind', 'Synchronise'], '{clock}'),
    database('a database server whose clock is slow', 'database-clock', ['behind', 'Synchronise'], '{slow}', WARNING),
    database('a server without tables', 'database-schema', ['There are no tables', 'db_sync'], '{empty}'),
    Fault('the key of another cluster', ['database-key'], ['encrypted with another key'], {
        'DEFAULT.auth_encryption_key': 'x' * 32, 'database.connection': '{sealed}'}),
    Fault('too few connections', ['database-connections'], ['max_connections is', 'max_pool_size'],
          {'database.max_pool_size': '500'}, WARNING),
    Fault('values that the server does not take', ['database-settings'], ['max_allowed_packet'],
          {'DEFAULT.max_evaluation_result': '2000000000'}, WARNING),
    # the broker
    Fault('a broker that is down', ['broker-hosts'], ['{host}:{port}: Connection refused'],
          {'DEFAULT.transport_url': 'rabbit://heatlite:heatlite@{host}:{port}/'}),
    Fault('a node of the broker that is down', ['broker-hosts'], ['{host}:{port}: Connection refused'],
          {'DEFAULT.transport_url': '{two_brokers}'}, WARNING),
    Fault('a broker that says nothing', ['broker-login'], ['RabbitMQ listens at this port'],
          {'DEFAULT.transport_url': 'rabbit://heatlite:heatlite@{host}:{silent}/'}),
    Fault('the wrong password of the broker', ['broker-login'], ['refuses the user', 'rabbitmqctl add_user'],
          {'DEFAULT.transport_url': '{wrong_broker_password}'}),
    Fault('a virtual host that does not exist', ['broker-login'], ['virtual host "nowhere"', 'add_vhost'],
          {'DEFAULT.transport_url': '{no_virtual_host}'}),
    Fault('a queue that the user may not make', ['broker-rights'], ['configure', 'set_permissions'],
          {'engine.topic': 'amq.engine'}),
    Fault('a queue of another type', ['broker-queue'],
          ['rabbit_quorum_queue', 'delete_queue', 'delete exchange name=heat'],
          {'oslo_messaging_rabbit.rabbit_quorum_queue': 'true'}),
    Fault('a queue without engines', ['running-queue'], ['no such queue', 'Start heatlite-engine'],
          {'engine.topic': 'a_queue_without_engines'}),
    # Keystone
    Fault('a Keystone that is down', ['keystone-url'], ['[ec2authtoken] auth_uri'],
          {'ec2authtoken.auth_uri': 'http://{host}:{port}/v3'}),
    Fault('a URL of something else', ['keystone-url'], ['without a version', '[ec2authtoken] auth_uri'],
          {'ec2authtoken.auth_uri': '{api}'}),
    Fault('the wrong password of the service user', ['keystone-user'], ['401', 'setup keystone'],
          {'keystone_authtoken.password': 'wrong'}),
    Fault('a service user of no project', ['keystone-user'], ['401', 'project'],
          {'keystone_authtoken.project_name': 'demo'}),
    Fault('a service user without rights', ['keystone-roles'], ['Its roles are: ', 'openstack role add'],
          {'keystone_authtoken.username': 'demo', 'keystone_authtoken.project_name': 'demo'}),
    Fault('the wrong password of the trustee', ['keystone-trustee'], ['401', '[trustee]'],
          {'trustee.password': 'wrong'}),
    Fault('a Keystone with another clock', ['keystone-clock'], ['behind', 'Synchronise'], {
        'keystone_authtoken.auth_url': '{late_keystone}'}),
    Fault('no domain for users inside stacks', ['keystone-domain'], ['stack_user_domain_name', 'setup keystone'],
          {'DEFAULT.stack_user_domain_name': ''}, WARNING),
    Fault('the wrong password of the administrator of that domain', ['keystone-domain'], ['401'],
          {'DEFAULT.stack_domain_admin_password': 'wrong'}),
    Fault('an administrator of that domain without rights', ['keystone-domain-rights'], ['reader', 'admin'], {
        'DEFAULT.stack_domain_admin': '{domain_reader}'}),
    Fault('a role that does not exist', ['keystone-stack-role'], ['"no_such_role"', 'openstack role create'],
          {'DEFAULT.heat_stack_user_role': 'no_such_role'}),
    Fault('a delegated role that does not exist', ['keystone-delegated-roles'], ['"no_such_role"'],
          {'DEFAULT.trusts_delegated_roles': 'member,no_such_role'}),
    # the catalogue, and what it names
    Fault('a region that does not exist', ['catalogue-identity', 'catalogue-orchestration'],
          ['in the region nowhere', 'region_name_for_services'], {'DEFAULT.region_name_for_services': 'nowhere'}),
    Fault('an endpoint without the project', ['catalogue-orchestration'], ['does not end in /v1/', '--change'],
          {'DEFAULT.region_name_for_services': '{region_without_project}'}),
    Fault('an endpoint of nothing', ['running-orchestration'], ['Start heatlite-api'],
          {'DEFAULT.region_name_for_services': '{region_closed}'}),
    Fault('an endpoint of another program', ['running-orchestration'], ['answers 404, and not as'],
          {'DEFAULT.region_name_for_services': '{region_of_keystone}'}),
    Fault('no endpoint of the CloudFormation API', ['catalogue-cloudformation'], ['There is none', 'setup keystone'],
          {'DEFAULT.heat_metadata_server_url': '', 'DEFAULT.heat_waitcondition_server_url': ''}),
    Fault('a service of used types that is gone', ['catalogue-services'], ['compute', 'OS::Nova::Server'],
          {'database.connection': '{used}'}, WARNING),
    Fault('no engine', ['running-engines'], ['none is alive', 'heatlite-engine'], {'database.connection': '{sealed}'}),
    Fault('notifications for a bus that is down', ['broker-notifications'], ['{host}:{port}: Connection refused'], {
        'oslo_messaging_notifications.driver': 'messagingv2',
        'oslo_messaging_notifications.transport_url': 'rabbit://heatlite:heatlite@{host}:{port}/'}),
)
