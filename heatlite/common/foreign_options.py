"""Names of options of libraries (by group) and of Heat alone that may occur in configuration files.

A test compares those of libraries with the installed versions.
"""

from __future__ import annotations

LIBRARIES: dict[str, str] = {
    'DEFAULT':
        'api_paste_config backdoor_port backdoor_socket client_socket_timeout config_dir config_file '
        'config_source control_exchange debug default_log_levels executor_thread_pool_size fatal_deprecations '
        'graceful_shutdown_timeout instance_format instance_uuid_format log_color log_config '
        'log_config_append log_date_format log_dir log_file log_options log_rotate_interval '
        'log_rotate_interval_type log_rotation_type logdir logfile logging_context_format_string '
        'logging_debug_format_suffix logging_default_format_string logging_exception_prefix '
        'logging_user_identity_format max_header_line max_logfile_count max_logfile_size_mb publish_errors '
        'rate_limit_burst rate_limit_except_level rate_limit_interval rpc_ping_enabled rpc_response_timeout '
        'rpc_thread_pool_size run_external_periodic_tasks syslog_log_facility tcp_keepidle transport_url '
        'use_journal use_json use_stderr use_syslog wsgi_default_pool_size wsgi_keep_alive wsgi_log_format '
        'wsgi_server_debug',
    'audit_middleware_notifications':
        'driver topics transport_url use_oslo_messaging',
    'barbican':
        'auth_endpoint barbican_api_version barbican_endpoint barbican_endpoint_type barbican_region_name '
        'cafile certfile collect_timing insecure keyfile number_of_retries retry_delay '
        'send_service_user_token split_loggers timeout tls_ciphers tls_min_version verify_ssl verify_ssl_path',
    'barbican_service_user':
        'auth_section auth_type cafile certfile collect_timing insecure keyfile split_loggers timeout '
        'tls_ciphers tls_min_version',
    'cache':
        'backend backend_argument backend_expiration_time config_prefix dead_timeout debug_cache_backend '
        'enable_retry_client enable_socket_keepalive enabled expiration_time hashclient_dead_timeout '
        'hashclient_retry_attempts hashclient_retry_delay hashclient_retry_timeout memcache_dead_retry '
        'memcache_password memcache_pool_connection_get_timeout memcache_pool_flush_on_reconnect '
        'memcache_pool_maxsize memcache_pool_unused_timeout memcache_sasl_enabled memcache_servers '
        'memcache_socket_timeout memcache_username password proxies redis_db redis_password '
        'redis_sentinel_service_name redis_sentinels redis_server redis_socket_timeout redis_username '
        'retry_attempts retry_delay socket_keepalive_count socket_keepalive_idle socket_keepalive_interval '
        'socket_timeout tls_allowed_ciphers tls_cafile tls_certfile tls_enabled tls_keyfile username',
    'cors':
        'allow_credentials allow_headers allow_methods allowed_origin expose_headers max_age',
    'database':
        'asyncio_connection asyncio_slave_connection backend connection connection_debug '
        'connection_parameters connection_recycle_time connection_trace db_inc_retry_interval db_max_retries '
        'db_max_retry_interval db_retry_interval max_overflow max_pool_size max_retries mysql_sql_mode '
        'mysql_wsrep_sync_wait pool_timeout retry_interval slave_connection sqlite_synchronous '
        'synchronous_reader use_db_reconnect',
    'ec2authtoken':
        'application_credential_id application_credential_name application_credential_secret auth_plugin auth_section '
        'auth_type auth_url cafile certfile collect_timing default_domain_id default_domain_name domain_id '
        'domain_name endpoint insecure keyfile password project_domain_id project_domain_name project_id '
        'project_name split_loggers system_scope tenant_id tenant_name timeout tls_ciphers tls_min_version '
        'token trust_id user_domain_id user_domain_name user_id user_name username',
    'healthcheck':
        'allowed_source_ranges backends detailed disable_by_file_path disable_by_file_paths '
        'enable_by_file_paths ignore_proxied_requests',
    'key_manager':
        'auth_type auth_url backend domain_id domain_name password project_domain_id project_domain_name '
        'project_id project_name reauthenticate token trust_id user_domain_id user_domain_name user_id '
        'username',
    'keystone_authtoken':
        'application_credential_id application_credential_name application_credential_secret auth_plugin '
        'auth_section auth_type auth_url auth_version cache cafile certfile collect_timing default_domain_id '
        'default_domain_name delay_auth_decision domain_id domain_name endpoint enforce_token_bind '
        'http_connect_timeout http_request_max_retries include_service_catalog insecure interface keyfile '
        'memcache_password memcache_pool_conn_get_timeout memcache_pool_dead_retry memcache_pool_maxsize '
        'memcache_pool_socket_timeout memcache_pool_unused_timeout memcache_sasl_enabled memcache_secret_key '
        'memcache_security_strategy memcache_servers memcache_tls_allowed_ciphers memcache_tls_cafile '
        'memcache_tls_certfile memcache_tls_enabled memcache_tls_keyfile memcache_use_advanced_pool '
        'memcache_username memcached_servers password project_domain_id project_domain_name project_id '
        'project_name region_name service_token_roles service_token_roles_required service_type split_loggers '
        'system_scope tenant_id tenant_name timeout tls_ciphers tls_min_version token token_cache_time '
        'trust_id user_domain_id user_domain_name user_id user_name username www_authenticate_uri',
    'oslo_concurrency':
        'disable_process_locking lock_path',
    'oslo_messaging_kafka':
        'compression_codec consumer_group enable_auto_commit kafka_consumer_timeout kafka_max_fetch_bytes '
        'max_poll_records producer_batch_size producer_batch_timeout sasl_mechanism security_protocol '
        'ssl_cafile ssl_client_cert_file ssl_client_key_file ssl_client_key_password',
    'oslo_messaging_notifications':
        'driver retry topics transport_url',
    'oslo_messaging_rabbit':
        'amqp_auto_delete amqp_durable_queues conn_pool_min_size conn_pool_ttl direct_mandatory_flag '
        'enable_cancel_on_failover heartbeat_rate heartbeat_timeout_threshold hostname kombu_compression '
        'kombu_failover_strategy kombu_missing_consumer_retry_timeout kombu_reconnect_delay '
        'kombu_reconnect_splay kombu_reconnect_timeout processname rabbit_ha_queues rabbit_interval_max '
        'rabbit_login_method rabbit_qos_prefetch_count rabbit_quorum_delivery_limit '
        'rabbit_quorum_max_memory_bytes rabbit_quorum_max_memory_length rabbit_quorum_queue '
        'rabbit_retry_backoff rabbit_retry_interval rabbit_stream_fanout rabbit_transient_queues_ttl '
        'rabbit_transient_quorum_queue rpc_conn_pool_size ssl ssl_ca_file ssl_cert_file ssl_enforce_fips_mode '
        'ssl_enforce_hostname_verification ssl_key_file ssl_version use_queue_manager',
    'oslo_middleware':
        'enable_proxy_headers_parsing http_basic_auth_user_file max_request_body_size',
    'oslo_middleware_tracing':
        'enabled insecure otlp_endpoint otlp_protocol sampling_rate service_name',
    'oslo_policy':
        'enforce_new_defaults policy_default_rule policy_dirs policy_file remote_content_type '
        'remote_ssl_ca_crt_file remote_ssl_client_crt_file remote_ssl_client_key_file '
        'remote_ssl_verify_server_crt remote_timeout',
    'ssl':
        'ca_file cert_file ciphers key_file version',
    'trustee':
        'application_credential_id application_credential_name application_credential_secret auth_plugin auth_section '
        'auth_type auth_url cafile certfile collect_timing default_domain_id default_domain_name domain_id '
        'domain_name endpoint insecure keyfile password project_domain_id project_domain_name project_id '
        'project_name split_loggers system_scope tenant_id tenant_name timeout tls_ciphers tls_min_version '
        'token trust_id user_domain_id user_domain_name user_id user_name username',
    'vault':
        'approle_role_id approle_secret_id auth_method auth_path kv_mountpoint kv_path kv_version namespace '
        'root_token_id ssl_ca_crt_file timeout token_file token_role use_ssl vault_url',
}

# Options of Heat, of present and former releases, without a meaning here.
HEAT: dict[str, str] = {
    'DEFAULT':
        'max_cinder_api_microversion enable_cloud_watch_lite keystone_backend instance_user loadbalancer_template '
        'periodic_fuzzy_delay sql_connection onready use_syslog_rfc_format control_exchange rpc_backend',
}
HEAT_GROUPS = frozenset({'profiler', 'heat_all', 'eventlet_opts', 'matchmaker_redis',
                         'oslo_messaging_amqp', 'oslo_messaging_zmq', 'oslo_reports', 'oslo_limit', 'privsep'})

# What happens in place of an option that nothing reads: the warning about it. By group, and by group and name.
UNREAD_GROUPS: dict[str, str] = {
    'audit_middleware_notifications': 'changes are recorded as [audit] log_file and [audit] notifications say',
    'profiler': 'requests are traced as [traces] endpoint says',
    'oslo_middleware_tracing': 'requests are traced as [traces] endpoint says',
    'healthcheck': 'of this group only disable_by_file_path has a meaning; /readiness tells what a process can reach',
    'heat_all': 'heatlite-all starts all services',
    'eventlet_opts': '[heat_api] client_socket_timeout says how long a connection may be idle',
    'ssl': '[heat_api] cert_file and key_file serve HTTPS, [oslo_messaging_rabbit] has the options for the broker',
    'matchmaker_redis': 'the broker is that of [DEFAULT] transport_url',
    'oslo_messaging_amqp': 'the broker is that of [DEFAULT] transport_url',
    'oslo_messaging_zmq': 'the broker is that of [DEFAULT] transport_url',
    'oslo_reports': 'SIGUSR2 lets a worker write the stacks of its threads to standard error',
    'oslo_limit': 'limits are options of this file',
    'privsep': 'no program changes its user',
}
_SERVER = 'the group of each API, such as [heat_api], has the options of its server'
UNREAD: dict[tuple[str, str], str] = {
    ('DEFAULT', 'backdoor_port'): 'there is no backdoor',
    ('DEFAULT', 'backdoor_socket'): 'there is no backdoor',
    ('DEFAULT', 'client_socket_timeout'): _SERVER,
    ('DEFAULT', 'max_header_line'): _SERVER,
    ('DEFAULT', 'tcp_keepidle'): _SERVER,
    ('DEFAULT', 'wsgi_default_pool_size'): _SERVER,
    ('DEFAULT', 'wsgi_keep_alive'): _SERVER,
    ('DEFAULT', 'wsgi_log_format'): 'the format of the lines of requests is fixed',
    ('DEFAULT', 'wsgi_server_debug'): 'errors of the server are logged, and never sent',
    ('DEFAULT', 'graceful_shutdown_timeout'): '[engine] stop_timeout says how long a stop waits for calls',
    ('DEFAULT', 'run_external_periodic_tasks'): 'there are no such tasks',
    ('DEFAULT', 'log_options'): 'values of options are not logged',
    ('DEFAULT', 'api_paste_config'): 'the order of the filters is fixed',
    ('DEFAULT', 'max_cinder_api_microversion'): 'requests to Cinder name no microversion',
    ('DEFAULT', 'enable_cloud_watch_lite'): 'the CloudWatch API is a program of its own, heatlite-api-cloudwatch',
    ('DEFAULT', 'keystone_backend'): 'the client of Keystone is fixed',
    ('DEFAULT', 'instance_user'): 'servers have the user of their image',
    ('DEFAULT', 'loadbalancer_template'): 'load_balancer_image and load_balancer_flavor say what balances load',
    ('DEFAULT', 'periodic_fuzzy_delay'): 'there are no periodic tasks',
    ('DEFAULT', 'sql_connection'): '[database] connection is the URL of the database',
    ('DEFAULT', 'onready'): '/readiness tells when a service is ready',
    ('DEFAULT', 'use_syslog_rfc_format'): 'lines for syslog always have this format',
    ('DEFAULT', 'rpc_backend'): '[DEFAULT] transport_url names the broker',
    ('database', 'slave_connection'): 'all statements go to [database] connection',
    ('database', 'asyncio_connection'): 'all statements go to [database] connection',
    ('database', 'asyncio_slave_connection'): 'all statements go to [database] connection',
    ('database', 'backend'): 'statements go through SQLAlchemy',
    ('database', 'sqlite_synchronous'): 'SQLite stores each transaction durably',
    ('database', 'synchronous_reader'): '[database] mysql_wsrep_sync_wait is for several nodes',
    **dict.fromkeys([('database', name) for name in (
        'max_retries', 'retry_interval', 'use_db_reconnect', 'db_max_retries', 'db_retry_interval',
        'db_inc_retry_interval', 'db_max_retry_interval')],
        'programs wait for the database, and requests for as long as their callers do'),
    ('oslo_middleware', 'max_request_body_size'): '[DEFAULT] max_json_body_size is the longest body of a request',
    ('oslo_middleware', 'http_basic_auth_user_file'): '[paste_deploy] flavor says how callers log in',
}
READ = {('healthcheck', 'disable_by_file_path')}        # of a group of UNREAD_GROUPS
