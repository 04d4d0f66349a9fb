"""Checks of the options themselves: values, names, the key, time-outs that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from heatlite.cmd import check_config
from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.site import Site
from heatlite.common import crypt, exception, key_manager
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts


def options(site: Site) -> Iterator[DoctorFinding]:
    for each in check_config.findings(site.conf):
        yield DoctorFinding(_('The files have valid options, as heatlite-manage check-config tests them.'), each.text,
                            each.fix, FAILED if each.level == check_config.ERROR else WARNING)


def keys_elsewhere(site: Site) -> Iterator[DoctorFinding]:
    try:
        key_manager.load(site.conf, site.timeout)
    except exception.HeatException as error:
        yield DoctorFinding(
            _('The key manager has the keys that auth_encryption_key_id and auth_decryption_key_ids name.'), str(error),
            _('Compare the ids, the login and the backend in [key_manager] with those of another host; the user needs '
              'the right to read these secrets.'))


def without_keys_elsewhere(site: Site) -> str:
    return '' if key_manager.is_used(site.conf) else _('[DEFAULT] auth_encryption_key_id is not set.')


def key(site: Site) -> Iterator[DoctorFinding]:
    try:
        key_manager.load(site.conf, site.timeout)          # if the check of it is left out
        crypt.check_keys(site.conf)
    except exception.HeatException as error:
        yield DoctorFinding(
            _('The option [DEFAULT] auth_encryption_key has 32 characters, the same on all hosts.'), str(error),
            _('Copy auth_encryption_key of another host; for a new installation make one with: openssl rand -hex 16'))


# --- contradictions -----------------------------------------------------------------------------------------

def _longest_plan(conf: ConfigOpts) -> float:
    return float(conf.plans.check_timeout) + (conf.plan_policies.timeout if conf.plan_policies.servers else 0.0)


LEAST_POOL = 5                              # connections, of [database] max_pool_size

Rule: TypeAlias = 'tuple[Callable[[ConfigOpts], bool], str, Callable[[ConfigOpts], str], str]'
"""(whether it is broken, what is expected, what was found, the fix)"""

RULES: tuple[Rule, ...] = (
    (lambda conf: conf.engine.lease_ttl < 4 * conf.engine.sweep_interval,
     _('[engine] lease_ttl is at least four times sweep_interval: leases are renewed between sweeps.'),
     lambda conf: f'lease_ttl {conf.engine.lease_ttl:g}, sweep_interval {conf.engine.sweep_interval:g}',
     _('Raise [engine] lease_ttl, or lower sweep_interval.')),
    (lambda conf: conf.rpc_response_timeout <= _longest_plan(conf),
     _('[DEFAULT] rpc_response_timeout is longer than the checks of a plan: [plans] check_timeout and '
       '[plan_policies] timeout.'),
     lambda conf: f'rpc_response_timeout {conf.rpc_response_timeout}, checks {_longest_plan(conf):g} seconds',
     _('Raise [DEFAULT] rpc_response_timeout, or lower [plans] check_timeout.')),
    (lambda conf: conf.max_json_body_size < conf.max_template_size,
     _('[DEFAULT] max_json_body_size is at least max_template_size: a template is part of the body of a request.'),
     lambda conf: f'max_json_body_size {conf.max_json_body_size}, max_template_size {conf.max_template_size}',
     _('Raise [DEFAULT] max_json_body_size, or lower max_template_size.')),
    (lambda conf: any(0 < conf[group].client_socket_timeout <= conf.event_streams.heartbeat for group in (
        'heat_api',)),
     _('[event_streams] heartbeat is shorter than [heat_api] client_socket_timeout: silent streams would be closed.'),
     lambda conf: (f'heartbeat {conf.event_streams.heartbeat:g}, client_socket_timeout '
                   f'{conf.heat_api.client_socket_timeout}'),
     _('Lower [event_streams] heartbeat, or raise [heat_api] client_socket_timeout.')),
    (lambda conf: conf.clients.timeout >= conf.stack_action_timeout,
     _('[clients] timeout is shorter than [DEFAULT] stack_action_timeout: a service that is silent is asked again.'),
     lambda conf: f'timeout {conf.clients.timeout:g}, stack_action_timeout {conf.stack_action_timeout}',
     _('Lower [clients] timeout, or raise stack_action_timeout.')),
    (lambda conf: conf.deferred_auth_method == 'password' and conf.reauthentication_auth_method == 'trusts',
     _('[DEFAULT] reauthentication_auth_method = trusts goes with deferred_auth_method = trusts.'),
     lambda conf: _('deferred_auth_method is password.'), _('Set [DEFAULT] deferred_auth_method = trusts.')),
    (lambda conf: conf.drift.interval and conf.drift.interval < 60,
     _('[drift] interval is at least a minute: each look asks the services about all objects.'),
     lambda conf: f'interval {conf.drift.interval:g}', _('Raise [drift] interval.')),
    (lambda conf: not (conf.database.connection or 'sqlite').startswith('sqlite') and 0 < (
        conf.database.max_pool_size or LEAST_POOL) < LEAST_POOL,
     _('[database] max_pool_size is at least %d: a process keeps so many connections, and opening one takes longer '
       'than a read.') % LEAST_POOL,
     lambda conf: f'max_pool_size {conf.database.max_pool_size}',
     _('Remove [database] max_pool_size, so that 20 are kept, or raise it.')),
)


def contradictions(site: Site) -> Iterator[DoctorFinding]:
    for is_broken, expected, found, fix in RULES:
        if is_broken(site.conf):
            yield DoctorFinding(expected, found(site.conf), fix, WARNING)


CHECKS = (
    Check('configuration', _('options have known names and valid values'), options),
    Check('key-manager', _('the key manager has the encryption keys'), keys_elsewhere, (), without_keys_elsewhere),
    Check('encryption-key', _('auth_encryption_key is set'), key, ('key-manager',)),
    Check('limits', _('time-outs and limits do not contradict each other'), contradictions),
)
