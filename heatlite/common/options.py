"""Every option of the service: name, default, meaning. Heat's options have Heat's names and defaults.

One table per group, `GROUPS` at the end; heatlite.common.config registers and loads them. Options of libraries
(database, messaging, logs, policy, identity) are declared by the libraries.
"""

from __future__ import annotations

import os
import socket

from oslo_config.cfg import BoolOpt, FloatOpt, HostAddressOpt, IntOpt, ListOpt, MultiStrOpt, Opt, PortOpt, StrOpt

from heatlite.common.limits import BODY_BYTES, USUAL, USUAL_PEERS

MAX_POOL_SIZE = 20                              # [database]: so many connections are kept, further ones are closed
_CPUS = len(os.sched_getaffinity(0))             # those that this process may use
_PLUGIN_DIRS = ['/usr/lib64/heat', '/usr/lib/heat', '/usr/local/lib/heat', '/usr/local/lib64/heat']

# Loopback, link-local, metadata services of clouds that are elsewhere, multicast, and unassigned addresses.
FETCH_DENY = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '100.100.100.200', '168.63.129.16', '224.0.0.0/3', '::/128',
              '::1/128', 'fe80::/10', 'fd00:ec2::254', 'ff00::/8',
              '64:ff9b:1::/48', '2001::/32']        # what translators make of IPv4, RFC 8215; Teredo

# --- [DEFAULT] ---------------------------------------------------------------------------------------------

LIMITS: list[Opt] = [
    IntOpt('max_json_body_size', default=BODY_BYTES, min=1,
           help='Longest request body in bytes; also of all its files with those of files_container.'),
    IntOpt('max_template_size', default=USUAL.max_size, min=1,
           help='Longest template in characters, nested ones too; of a fetched one in bytes.'),
    IntOpt('max_template_depth', default=USUAL.max_depth, min=1,
           help='How deep the maps and lists of a template may nest.'),
    IntOpt('max_template_expansion', default=USUAL.max_expansion, min=1,
           help='Most values of a template with its aliases expanded; a text or key counts one for each 16 '
                'characters.'),
    IntOpt('max_template_functions', default=USUAL.max_functions, min=1, help='Most function calls in one template.'),
    IntOpt('max_function_result', default=USUAL.max_result, min=1,
           help='Most characters or items one function may give.'),
    IntOpt('max_evaluation_result', default=USUAL.max_evaluation_result, min=1,
           help='Most characters that all functions of one evaluation (the properties of a resource, all outputs of a '
                'stack, a check) may make together; an item of a list or map counts 16, a character beyond ASCII 4.'),
    IntOpt('max_result_per_resource', default=USUAL.max_result_per_resource, min=0,
           help='How many characters each resource adds to what the properties of a whole stack may be.'),
    IntOpt('max_evaluation_steps', default=USUAL.max_evaluation_steps, min=1,
           help='Most steps (of about a microsecond) of one evaluation.'),
    IntOpt('max_matching_time', default=USUAL.max_matching_time, min=1,
           help='Most milliseconds that regular expressions which are not proved cheap may take in one evaluation.'),
    FloatOpt('template_fetch_timeout', default=60.0, min=0.0,
           help='Seconds in which a template that is given as a URL must have arrived, redirects included.'),
    ListOpt('template_fetch_deny', default=FETCH_DENY,
            help='Addresses, networks and hosts (files.example.com, *.example.com) from which no template is fetched. '
                 'What a name stands for is looked at: IPv4 addresses within IPv6 ones are IPv4 addresses. Requests '
                 'that follow from alarms, and those with a login of a user at another cloud, are not sent '
                 'there, either.'),
    ListOpt('template_fetch_allow', default=[],
            help='Exceptions from template_fetch_deny, of the same form.'),
    IntOpt('max_nested_stack_depth', default=USUAL.max_nested_depth, min=0, max=900,
           help='How deep stacks may be nested in stacks.'),
    IntOpt('max_resources_per_stack', default=1000, min=-1,
           help='Most resources in a stack and all stacks nested in it; -1: no limit.'),
    IntOpt('max_members_per_group', default=USUAL.max_members, min=1,
           help='Most resources in one nested stack, such as the members of a group, whatever max_resources_per_stack '
                'allows.'),
    IntOpt('max_stacks_per_tenant', default=512, min=-1, help='Most stacks of one project; -1: no limit.'),
    IntOpt('max_snapshots_per_stack', default=32, min=-1, help='Most snapshots of one stack; -1: no limit.'),
    IntOpt('max_software_configs_per_tenant', default=4096, min=-1,
           help='Most software configs of one project; -1: no limit.'),
    IntOpt('max_software_deployments_per_tenant', default=4096, min=-1,
           help='Most software deployments of one project; -1: no limit.'),
    IntOpt('max_events_per_stack', default=1000, min=0,
           help='About how many events of a stack are kept, the oldest go first; 0: all.'),
    IntOpt('event_purge_batch_size', default=200, min=1, deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: all events beyond max_events_per_stack '
                             'are removed at once, when an action ends.',
           help='Without effect.'),
    IntOpt('max_server_name_length', default=53, max=53, help='Longest name given to a server.'),
    IntOpt('max_interface_check_attempts', default=10, min=1, deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: interfaces are looked at until the time '
                             'of the action is over, 30 seconds for a port that a replaced server must let go.',
           help='Without effect.'),
]

BEHAVIOUR: list[Opt] = [
    IntOpt('stack_action_timeout', default=3600, min=1, help='Seconds a stack action may take unless the user says.'),
    IntOpt('error_wait_time', default=240, min=0,
           help='Seconds that running resources of a failed stack get to finish before they are stopped.'),
    IntOpt('action_retry_limit', default=5, min=0,
           help='How often a resource is created again when its creation ends in an error state.'),
    IntOpt('stack_set_patience', default=300, min=0,
           help='Seconds that a member of a stack set waits for the orchestration service of its region to answer, '
                'before the member fails.'),
    IntOpt('client_retry_limit', default=2, deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: a request that a service did not begin, '
                             'or that may be repeated, is sent again four times.',
           help='Without effect.'),
    BoolOpt('enable_stack_abandon', default=False, help='Allow to abandon and export stacks.'),
    BoolOpt('enable_stack_adopt', default=False, help='Allow to adopt what an abandoned stack left.'),
    ListOpt('hidden_stack_tags', default=[], help='Stacks with one of these tags are left out of lists.'),
    BoolOpt('observe_on_update', default=False,
            help='Compare every resource with reality before an update, as if each request said "converge".'),
    BoolOpt('convergence_engine', default=True, deprecated_for_removal=True,
            deprecated_reason='Accepted for existing files and without effect: there is one engine.',
            help='Without effect.'),
    BoolOpt('stack_scheduler_hints', default=False,
            help='Tell the compute and block storage schedulers which stack and resource a request comes from.'),
    BoolOpt('encrypt_parameters_and_properties', default=False,
            help='Store templates, environments and files of users encrypted, too. All that types make of them is '
                 'always encrypted.'),
    StrOpt('auth_encryption_key', secret=True, sample_default='<32 characters>',
           help='Key of everything stored encrypted: exactly 32 characters, the same on all hosts. '
                'heatlite-all makes its own.'),
    MultiStrOpt('auth_decryption_keys', default=[], secret=True,
                help='Further keys with which stored values are decrypted and none is encrypted, each exactly 32 '
                     'characters, one line each: the next key before auth_encryption_key is changed, the former one '
                     'until all values are encrypted again.'),
    StrOpt('auth_encryption_key_id',
           help='Id of a secret in the key manager of [key_manager] (castellan) whose text is the key, instead of '
                'auth_encryption_key. Read at the start of each process; needs the extra key-manager.'),
    ListOpt('auth_decryption_key_ids', default=[],
            help='The same for further keys with which stored values are decrypted, beside auth_decryption_keys.'),
    StrOpt('default_software_config_transport', default='POLL_SERVER_CFN',
           choices=['POLL_SERVER_CFN', 'POLL_SERVER_HEAT', 'POLL_TEMP_URL', 'ZAQAR_MESSAGE'],
           help='How servers fetch their software configuration unless the template says.'),
    StrOpt('default_deployment_signal_transport', default='CFN_SIGNAL',
           choices=['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'HEAT_SIGNAL', 'ZAQAR_SIGNAL'],
           help='How servers report the result of a deployment unless the template says.'),
    StrOpt('default_user_data_format', default='HEAT_CFNTOOLS', choices=['HEAT_CFNTOOLS', 'RAW', 'SOFTWARE_CONFIG'],
           help='Format of the user data of servers unless the template says.'),
    FloatOpt('metadata_put_timeout', default=60.0, min=0.0, deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: metadata are put to object storage as '
                             'any other request to it, see [clients] timeout.',
           help='Without effect.'),
    StrOpt('default_notification_level', default='INFO', help='Priority of notifications.'),
    StrOpt('default_publisher_id', help='Publisher of notifications; unset: orchestration.<host>.'),
]

IDENTITY: list[Opt] = [
    StrOpt('deferred_auth_method', default='trusts', choices=['trusts', 'password'],
           help='How the service acts for a user after the request has ended.'),
    StrOpt('reauthentication_auth_method', default='', choices=['', 'trusts'],
           help='"trusts": use the stored trust for the request itself too, so that actions may outlive the token.'),
    BoolOpt('allow_trusts_redelegation', default=False, help='Let stored trusts be delegated further.'),
    ListOpt('trusts_delegated_roles', default=[], help='Roles a trust delegates; empty: all of the user.'),
    StrOpt('heat_stack_user_role', default='heat_stack_user', help='Role of users that live inside stacks.'),
    StrOpt('stack_user_domain_id', deprecated_name='stack_user_domain',
           help='Domain of users that live inside stacks.'),
    StrOpt('stack_user_domain_name', help='The same by name, used when no id is set.'),
    StrOpt('stack_domain_admin', help='A user who may manage users and projects of that domain.'),
    StrOpt('stack_domain_admin_password', secret=True, help='Password of that user.'),
    StrOpt('region_name_for_services', help='Region of the services that resources use; unset: the user\'s.'),
    StrOpt('region_name_for_shared_services', help='Region of the services that regions share.'),
    ListOpt('shared_services_types', default=['image', 'volumev3'], help='Types of those services.'),
    StrOpt('server_keystone_endpoint_type', default='', choices=['', 'public', 'internal', 'admin'],
           help='Interface of the endpoint "identity" in the catalogue whose URL servers are given to log in at. '
                'Empty, or without such an endpoint: [clients_keystone] auth_uri, else the URL that the service uses.'),
    StrOpt('heat_metadata_server_url', help='Base URL servers fetch metadata from; unset: from the catalogue.'),
    StrOpt('heat_waitcondition_server_url', help='Base URL of wait conditions; unset: from the catalogue.'),
    StrOpt('heat_watch_server_url',
           help='Base URL of the CloudWatch API as servers reach it; unset: from the catalogue.'),
    StrOpt('instance_connection_is_secure',
           help='is_secure, 0 or 1, in the file of boto on servers with the user data format HEAT_CFNTOOLS: whether '
                'its clients connect to these URLs by HTTPS. Unset: as the URL for metadata says.'),
    StrOpt('instance_connection_https_validate_certificates', default='1',
           help='https_validate_certificates in that file: whether they check the certificates of these URLs.'),
    StrOpt('load_balancer_image',
           help='Image, with heat-cfntools, of the servers that balance load where the cloud has no Octavia.'),
    StrOpt('load_balancer_flavor', default='m1.small', help='Flavor of these servers.'),
]

PLUGINS: list[Opt] = [
    ListOpt('plugin_dirs', default=_PLUGIN_DIRS, help='Folders with resource types of your own.'),
    StrOpt('environment_dir', default='/etc/heat/environment.d', help='Folder with environments for all stacks.'),
    StrOpt('template_dir', default='/etc/heat/templates', help='Folder with the templates those environments name.'),
    StrOpt('max_nova_api_microversion', regex=r'2\.\d+$',
           help='Newest microversion of Nova that is used, such as 2.60; unset: the newest that both sides know.'),
    StrOpt('max_ironic_api_microversion', regex=r'1\.\d+$', help='The same of Ironic, such as 1.58.'),
    StrOpt('cloud_backend', default='heatlite.engine.clients.OpenStackClients',
           help='Class that makes the clients of other services.'),
]

SERVICE: list[Opt] = [
    StrOpt('host', default=socket.gethostname(), sample_default='<host name>',
           help='Name of this host in the list of services.'),
    IntOpt('num_engine_workers', default=_CPUS, min=0, sample_default='<number of usable CPUs>',
           help='Engine processes on this host; 0: one. One process serves many stacks at once, so more of them than '
                'CPUs only take memory.'),
    IntOpt('periodic_interval', default=60, min=1, help='Seconds between two reports in the list of services.'),
    IntOpt('engine_life_check_timeout', default=2, deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: leases tell who is alive.',
           help='Without effect.'),
]

# --- heatlite's own: not visible to clients ----------------------------------------------------------------

ENGINE: list[Opt] = [
    StrOpt('topic', default='engine',
           help='Queue of the messages to engines. Take another where something else, such as Heat, uses the same '
                'RabbitMQ virtual host.'),
    FloatOpt('lease_ttl', default=3.0, min=1.0, max=300.0,
             help='Seconds after which the stacks of an engine that went silent may be taken by another.'),
    FloatOpt('sweep_interval', default=0.5, min=0.1,
             help='Seconds between two sweeps for stacks that no engine drives.'),
    FloatOpt('stall_timeout', default=10.0, min=2.0,
             help='Seconds of CPU time after which an engine whose main loop stands still is ended and started again; '
                  'three times as many seconds of any time when it uses none.'),
    IntOpt('renew_above', default=48, min=0,
           help='MiB beyond its size at the start that an engine without stacks may keep; with more it leaves its '
                'place to a new process. 0: no limit.'),
    IntOpt('max_stacks', default=1000, min=1,
           help='Stacks an engine drives at once; what comes beyond is left for other engines. As many again of those '
                'that are nested in them, as of those nested in these, and so on. Of each, 70 % for one project.'),
    IntOpt('max_resources_of_tree', default=20000, min=0,
           help='Resources in nested stacks of one tree, at the same depth, that an engine drives at once; the next '
                'nested stack begins when others have ended. One that is larger is driven alone. 0: no limit.'),
    IntOpt('runner_pool_size', default=512, min=1,
           help='Calls to plug-ins that may run at once in one engine. A project has at most as many of them as are '
                'left for the others, so half of them if it is alone. Of one stack, at most 400 resources wait for '
                'their first call to return.'),
    FloatOpt('poll_interval', default=1.0, min=0.0,
             help='Seconds between two checks of a resource whose type does not say.'),
    FloatOpt('force_delete_timeout', default=300.0, min=0.0,
             help='Seconds after which a forced delete leaves in the cloud what is not deleted by then.'),
    FloatOpt('stop_timeout', default=10.0, min=0.0,
             help='Seconds after SIGTERM in which calls to plug-ins may return before their stacks are handed over; '
                  'all others are handed over at once. The process is killed ten seconds later: a supervisor, such as '
                  'systemd with TimeoutStopSec, must wait longer.'),
]

JOURNAL: list[Opt] = [
    IntOpt('max_changes', default=2000, min=1, help='Most changes of resources written in one transaction.'),
]

ALARMS: list[Opt] = [
    FloatOpt('tick', default=1.0, min=0.1, max=60.0,
             help='Seconds between two looks for alarms and requests that are due, at most. An engine looks only for '
                  'projects that have some.'),
    FloatOpt('delay', default=5.0, min=0.0, max=3600.0,
             help='Seconds after the end of a period in which its data may still arrive; alarms are evaluated then.'),
    IntOpt('batch_size', default=100, min=1, max=1000, help='Most alarms evaluated in one transaction.'),
    IntOpt('max_metrics_per_project', default=100000, min=-1,
           help='Most metrics of one project; data of others are refused. -1: no limit.'),
    IntOpt('max_alarms_per_project', default=5000, min=-1, help='Most alarms of one project; -1: no limit.'),
    IntOpt('keep_10', default=3, min=1, help='Hours that data are kept in periods of 10 seconds; then of one minute.'),
    IntOpt('keep_60', default=15, min=1, help='Days that data are kept in periods of a minute; then of five.'),
    IntOpt('keep_300', default=63, min=1, help='Days that data are kept in periods of five minutes; then of an hour.'),
    IntOpt('keep_3600', default=455, min=1, help='Days that data are kept in periods of an hour; then they are gone.'),
    IntOpt('keep_history', default=14, min=1, help='Days that the history of alarms is kept.'),
    FloatOpt('webhook_timeout', default=10.0, min=0.1, max=60.0,
             help='Seconds that a request which follows from an alarm may take. Addresses: template_fetch_deny.'),
]

PLANS: list[Opt] = [
    IntOpt('lifetime', default=86400, min=1, help='Seconds in which a plan can be applied.'),
    IntOpt('max_plans_per_project', default=100, min=-1,
           help='Most plans of one project that wait to be applied; -1: no limit.'),
    BoolOpt('needs_approval', default=False,
            help='A plan can be applied only after a user other than its author has approved it.'),
    FloatOpt('check_timeout', default=10.0, min=0.0, max=60.0,
             help='Seconds in which services have to answer when a plan is checked against quotas, sizes, zones and '
                  'what is in use; what is not answered is not checked. 0: services are not asked.'),
    BoolOpt('refuse_errors', default=False,
            help='Plans are checked again when they are applied, and refused if that finds errors.'),
    StrOpt('prices', default='',
           help='A YAML file with prices, from which plans say what a stack costs per hour. Read at the start and at '
                'SIGHUP.'),
    BoolOpt('rating', default=True,
            help='Without a file of prices, the rating service (CloudKitty) is asked what a stack costs, if it is in '
                 'the catalogue.'),
    StrOpt('rating_currency', default='', help='Name of the unit of the rating service, for plans: EUR.'),
    BoolOpt('required', default=False,
            help='Stacks are created, updated, restored and deleted only by plans; requests without one are refused.'),
]

REVISIONS: list[Opt] = [
    IntOpt('keep', default=20, min=0, max=1000,
           help='Most revisions of one stack: accepted definitions, to list, compare and go back to. 0: none.'),
]

DRIFT: list[Opt] = [
    FloatOpt('interval', default=0.0, min=0.0,
             help='Seconds between two scheduled comparisons of the objects of one stack with its definition. '
                  '0: only when a user asks for one.'),
    FloatOpt('requests_per_minute', default=60.0, min=1.0,
             help='Requests for it to each service, of one engine. Where they do not suffice for the interval, it '
                  'takes longer.'),
    FloatOpt('repairs_per_hour', default=60.0, min=1.0,
             help='Updates, of one engine, that repair what scheduled comparisons have found.'),
    FloatOpt('repair_interval', default=3600.0, min=0.0,
             help='Least seconds between two updates of one stack that repair what scheduled looks have found.'),
]

PLAN_POLICIES: list[Opt] = [
    StrOpt('rules_file', help='YAML file with rules in CEL about plans; needs the extra "policies".'),
    ListOpt('servers', default=[], help='URLs of policy servers, to which each plan is posted.'),
    FloatOpt('timeout', default=5.0, min=0.1, max=30.0,
             help='Seconds that all policy servers together may take for one plan.'),
    BoolOpt('fail_open', default=False,
            help='A rule that cannot be evaluated, or a server that gives no ruling: warn instead of deny.'),
]

EMBEDDED: list[Opt] = [
    StrOpt('state_dir', default='~/.local/share/heatlite', help='Where heatlite-all keeps its database and key.'),
]

EVENT_STREAMS: list[Opt] = [
    FloatOpt('poll_interval', default=0.5, min=0.05, max=10.0,
             help='Seconds between two looks for new events while anybody listens to this process; one for all.'),
    FloatOpt('heartbeat', default=15.0, min=1.0, max=60.0, help='Seconds without an event after which a sign is sent.'),
    FloatOpt('longest', default=3600.0, min=1.0,
             help='Seconds after which a stream ends; its client connects again, with a token that is checked anew.'),
    IntOpt('listeners', default=4000, min=0,
           help='Most streams of one process of the built-in server. 0: none.'),
    IntOpt('listeners_in_threads', default=2, min=0,
           help='Most streams of one process of gunicorn or uwsgi, where each takes a thread: fewer than its threads. '
                'They end after a minute at most, before uwsgi counts the request as hanging.'),
    IntOpt('listeners_per_project', default=1000, min=0,
           help='Most streams of one project in one process, which has a quarter of those that others leave at most.'),
]

RATE_LIMITS: list[Opt] = [
    IntOpt('requests', default=0, min=0,
           help='Most requests of one project in a minute to one process of an API; more are answered 429 with '
                'Retry-After. As many may come at once. 0: no limit.'),
    IntOpt('changes', default=0, min=0,
           help='The same for requests that change something: POST, PUT, PATCH and DELETE of the REST API, signals, '
                'and actions of the CloudFormation API that change stacks. 0: no limit of their own.'),
]

CONSOLE: list[Opt] = [
    BoolOpt('enabled', default=False,
            help='Serve the web console at /console; heatlite-all does so by default. It logs in at Keystone through '
                 'this service, or not at all with the flavor noauth.'),
]

METRICS: list[Opt] = [
    PortOpt('engine_port', default=0,
            help='Port on which an engine serves its figures at /metrics, on loopback only; workers take the '
                 'following ports. 0: not served.'),
    BoolOpt('api_enabled', default=True, help='Serve the figures of the API at /metrics to clients on loopback.'),
]

TRACES: list[Opt] = [
    StrOpt('endpoint', default='', sample_default='http://collector.example.com:4318/v1/traces',
           help='URL of a receiver of traces: OTLP over HTTP, such as an OpenTelemetry collector, Jaeger or Tempo. '
                'Needs the extra "traces". Empty: there are no traces, and they cost nothing.'),
    ListOpt('headers', default=[], secret=True,
            help='Headers of the requests to the receiver, such as Authorization=Basic dXNlcg.'),
    StrOpt('ca_file', help='Authorities to trust for a receiver with https; unset: those of the system.'),
    FloatOpt('sample_ratio', default=1.0, min=0.0, max=1.0,
             help='Share of the traces begun here that are sent. A trace of a caller is sent if the caller sends it.'),
    BoolOpt('continue_callers', default=True,
            help='Continue the trace that a caller names in the header traceparent. False: each request begins a trace '
                 'of its own, so that users decide neither about ids nor about what is sent.'),
    StrOpt('service_prefix', default='heatlite', regex='[A-Za-z0-9_.-]{1,64}$',
           help='First part of the names under which the receiver lists the services: heatlite-api, heatlite-engine.'),
    FloatOpt('timeout', default=5.0, min=0.1, max=60.0,
             help='Seconds in which the receiver has to take some hundred spans; they are lost afterwards.'),
    IntOpt('queue_size', default=4096, min=1, max=100000,
           help='Most spans of one process that wait to be sent; further ones replace the oldest. One takes about '
                '2 KiB.'),
]

AUDIT: list[Opt] = [
    StrOpt('log_file',
           help='File to which each change, and each that was refused, is appended as one line: an event in CADF, as '
                'JSON. Processes of one host may share it; it may be rotated at any time. Unset: no file.'),
    BoolOpt('notifications', default=False,
            help='Send these events as notifications, as [oslo_messaging_notifications] says.'),
]

YAQL: list[Opt] = [
    IntOpt('limit_iterators', default=USUAL.yaql_iterators, help='Most elements an expression may walk through.'),
    IntOpt('call_limit', default=USUAL.yaql_calls, min=1, help='Most function calls of one evaluation.'),
    IntOpt('memory_quota', default=USUAL.yaql_memory, help='Most bytes the data of an expression may take.'),
]

# --- the API -----------------------------------------------------------------------------------------------


def _listener(port: int) -> list[Opt]:
    return [
        HostAddressOpt('bind_host', default='127.0.0.1', deprecated_group='DEFAULT', help='Address to listen on.'),
        PortOpt('bind_port', default=port, deprecated_group='DEFAULT', help='Port to listen on.'),
        IntOpt('backlog', default=4096, min=1, deprecated_group='DEFAULT',
               help='Connections the system keeps waiting.'),
        IntOpt('workers', default=0, min=0, deprecated_group='DEFAULT',
               help='Processes; 0 or 1: one, without a watching parent.'),
        StrOpt('cert_file', deprecated_group='DEFAULT',
               help='Certificate; set it together with key_file to serve HTTPS.'),
        StrOpt('key_file', deprecated_group='DEFAULT', help='Private key of the certificate.'),
        IntOpt('max_header_line', default=USUAL_PEERS.header_line, min=1, help='Longest header line in bytes.'),
        IntOpt('tcp_keepidle', default=600, min=1, help='Seconds of silence before a connection is probed.'),
        IntOpt('client_socket_timeout', default=USUAL_PEERS.idle_seconds, min=0,
               help='Seconds after which an idle connection is closed; 0: never.'),
        IntOpt('header_timeout', default=USUAL_PEERS.header_seconds, min=0,
               help='Seconds in which the line and the headers of a request must arrive, the handshake of TLS '
                    'included; 0: any time.'),
        IntOpt('body_timeout', default=USUAL_PEERS.body_seconds, min=0,
               help='Seconds in which the body of a request must arrive, and an answer be taken, and one more for '
                    'each 64 KiB; 0: any time.'),
        IntOpt('max_connections', default=USUAL_PEERS.connections, min=1,
               help='Connections a process has at once. Beyond, the oldest one without a complete request is closed.'),
        IntOpt('max_connections_per_peer', default=USUAL_PEERS.connections_per_peer, min=1,
               help='How many of them one address may have.'),
        ListOpt('trusted_proxies', default=[],
                help='Addresses and networks (10.0.0.0/24) of proxies, which may have as many as there are, and whose '
                     'X-Forwarded headers are believed ([oslo_middleware] enable_proxy_headers_parsing).'),
    ]


PASTE_DEPLOY: list[Opt] = [
    StrOpt('flavor', help='How callers say who they are: unset (Keystone token), standalone, noauth.'),
    StrOpt('api_paste_config', default='api-paste.ini', deprecated_for_removal=True,
           deprecated_reason='Accepted for existing files and without effect: the order of the filters is fixed.',
           help='Without effect.'),
]

AUTH_PASSWORD: list[Opt] = [
    BoolOpt('multi_cloud', default=False, help='Let callers name the Keystone they log in to.'),
    ListOpt('allowed_auth_uris', default=[], help='The Keystones they may name.'),
]

NOAUTH: list[Opt] = [
    StrOpt('token_response', default='', help='JSON file that is used as the body of every token.'),
    ListOpt('hosts', default=[],
            help='Names with a dot of this service, without ports, that requests may use; its addresses, and names '
                 'without a dot, need no entry. Requests of web pages of other sites are refused unless [cors] '
                 'allowed_origin names the site: "*" is none here.'),
]

REVISION: list[Opt] = [
    StrOpt('heat_revision', sample_default='<version of the package, and the revision that it was built of>',
           help='Revision shown by "build info".'),
]

# Of one Keystone that checks signatures; also of a group [ec2authtoken.NAME], for a NAME in `clouds`.
EC2_KEYSTONE: list[Opt] = [
    StrOpt('auth_uri', help='Keystone that checks signatures of the CloudFormation and CloudWatch APIs.'),
    StrOpt('cert_file', help='Client certificate.'),
    StrOpt('key_file', help='Its private key.'),
    StrOpt('ca_file', help='Authorities to trust.'),
    BoolOpt('insecure', default=False, help='Do not check the certificate of Keystone.'),
]
EC2AUTHTOKEN: list[Opt] = [
    *EC2_KEYSTONE,
    BoolOpt('multi_cloud', default=False, help='Try the Keystones of all clouds, or else each of allowed_auth_uris.'),
    ListOpt('clouds', default=[],
            help='Names of clouds whose Keystones are tried in this order, with multi_cloud. Each has a group '
                 '[ec2authtoken.NAME] with auth_uri, certificates, and a login of its own (auth_type).'),
    ListOpt('allowed_auth_uris', default=[], help='Keystones to try, all with the login of [ec2authtoken].'),
]

VOLUMES: list[Opt] = [BoolOpt('backups_enabled', default=True, help='Whether the cloud has volume backups.')]


def _cache(seconds: int) -> list[Opt]:
    return [IntOpt('expiration_time', default=seconds, min=0, help='Seconds an answer is remembered.'),
            BoolOpt('caching', default=True, help='Remember answers when [cache] is enabled.')]


# --- clients of other services -----------------------------------------------------------------------------

def _http_log_debug() -> Opt:
    return BoolOpt('http_log_debug', default=False, deprecated_for_removal=True,
                   deprecated_reason='Accepted for existing files and without effect: default_log_levels with '
                                     'keystoneauth=DEBUG logs requests and answers of all services.',
                   help='Without effect.')


ENDPOINT_TYPES = [('publicURL', 'the same as public'), ('internalURL', 'the same as internal'),
                  ('adminURL', 'the same as admin'), ('public', 'endpoints for users'),
                  ('internal', 'endpoints for services of the cloud'), ('admin', 'endpoints for administrators')]
CLIENTS: list[Opt] = [
    StrOpt('endpoint_type', default='publicURL', choices=ENDPOINT_TYPES,
           help='Which endpoint of the catalogue to use.'),
    StrOpt('ca_file', help='Authorities to trust.'),
    StrOpt('cert_file', help='Client certificate.'),
    StrOpt('key_file', help='Its private key.'),
    BoolOpt('insecure', default=False, help='Do not check certificates.'),
    FloatOpt('timeout', default=60.0, min=1.0, help='Seconds without a byte after which a service is given up.'),
    IntOpt('max_requests', default=64, min=1, help='Requests to one service that may run at once in a process.'),
    IntOpt('max_answer_size', default=33554432, min=1,
           help='Most bytes of one answer of a service; a longer one is refused as if the service were not there.'),
    IntOpt('max_answer_time', default=300, min=1,
           help='Most seconds from the end of a request to the end of its answer, however steadily it arrives.'),
]
CLIENT_NAMES = ('aodh', 'barbican', 'blazar', 'cinder', 'designate', 'glance', 'heat', 'ironic', 'keystone', 'magnum',
                'manila', 'mistral', 'neutron', 'nova', 'octavia', 'openstack', 'swift', 'trove', 'vitrage', 'zaqar',
                'zun')
_OF_ONE_CLIENT: dict[str, list[Opt]] = {
    'heat': [StrOpt('url', default='', help='URL of this service with %(tenant_id)s; empty: from the catalogue.')],
    'keystone': [StrOpt('auth_uri', default='',
                        help='URL of Keystone, where it is not www_authenticate_uri: for requests in the name of '
                             'users, and what servers are given unless server_keystone_endpoint_type is set.')],
    'nova': [_http_log_debug()],
    'cinder': [_http_log_debug()],
}


def _one_client(name: str) -> list[Opt]:
    """Return the options of [clients], without defaults: an unset option has the value of [clients]."""
    inherited = [StrOpt(opt.name, choices=ENDPOINT_TYPES, help=opt.help) if opt.name == 'endpoint_type' else
                 type(opt)(opt.name, help=opt.help) for opt in CLIENTS]
    return [*inherited, *_OF_ONE_CLIENT.get(name, [])]


# --- cells -------------------------------------------------------------------------------------------------

CELLS: list[Opt] = [
    ListOpt('names', default=[],
            help='Databases beside that of [database] connection, each with a broker and engines of its own, among '
                 'which projects are divided: letters, digits and hyphens. Each has a group of options, such as '
                 '[cell_east] for "east". Read by the APIs and heatlite-manage only.'),
]
# The options of [cell_NAME]: known once [cells] names was read (heatlite.common.config).
ONE_CELL: list[Opt] = [
    StrOpt('connection', secret=True, help='The URL of the database, as in [database] of its engines.'),
    StrOpt('transport_url', secret=True, help='The URL of the broker, as transport_url of its engines.'),
    StrOpt('topic', help='The topic of its engines, as their [engine] topic; by default that of the home cell. Cells '
                         'that share a virtual host of a broker need one each.'),
]


def cloud_group(name: str) -> str:
    """Return the group with the options of one of [ec2authtoken] clouds."""
    return f'ec2authtoken.{name}'


def cell_group(name: str) -> str:
    """Return the group with the options of a cell."""
    return f'cell_{name}'


GROUPS: dict[str, list[Opt]] = {
    'DEFAULT': [*LIMITS, *BEHAVIOUR, *IDENTITY, *PLUGINS, *SERVICE],
    'engine': ENGINE,
    'journal': JOURNAL,
    'alarms': ALARMS,
    'plans': PLANS,
    'revisions': REVISIONS,
    'drift': DRIFT,
    'plan_policies': PLAN_POLICIES,
    'console': CONSOLE,
    'embedded': EMBEDDED,
    'event_streams': EVENT_STREAMS,
    'cells': CELLS,
    'rate_limits': RATE_LIMITS,
    'metrics': METRICS,
    'traces': TRACES,
    'audit': AUDIT,
    'heat_api': _listener(8004),
    'heat_api_cfn': _listener(8000),
    'heat_api_cloudwatch': _listener(8003),
    'paste_deploy': PASTE_DEPLOY,
    'auth_password': AUTH_PASSWORD,
    'noauth': NOAUTH,
    'revision': REVISION,
    'ec2authtoken': EC2AUTHTOKEN,
    'volumes': VOLUMES,
    'yaql': YAQL,
    'constraint_validation_cache': _cache(60),
    'service_extension_cache': _cache(3600),
    'resource_finder_cache': _cache(3600),
    'clients': CLIENTS,
    **{f'clients_{name}': _one_client(name) for name in CLIENT_NAMES},
}

COMMAND_LINE: list[Opt] = [
    MultiStrOpt('set', default=[], metavar='[GROUP.]NAME=VALUE',
                help='Set one option, stronger than the files; may be repeated.'),
]
