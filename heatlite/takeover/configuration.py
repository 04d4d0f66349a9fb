"""Reads the configuration of a Heat: where its database is, its key, and what should be the same in heatlite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from heatlite.common import exception, options, settings
from heatlite.common.i18n import _

DEFAULT_KEY = 'notgood but just long enough i t'        # of a Heat whose configuration sets none
# Groups with options of Heat. Those of its servers are not compared: addresses differ while both run.
GROUPS = (settings.DEFAULT, 'paste_deploy', 'auth_password', 'ec2authtoken', 'volumes', 'yaql',
          'constraint_validation_cache', 'service_extension_cache', 'resource_finder_cache', 'clients',
          *(f'clients_{name}' for name in options.CLIENT_NAMES))
# Options in them that Heat does not have, and those that may differ: the key, and what belongs to a host.
NOT_COMPARED = frozenset({
    'max_template_depth', 'max_template_expansion', 'max_template_functions', 'max_function_result',
    'max_evaluation_result', 'max_result_per_resource', 'max_evaluation_steps', 'max_matching_time',
    'template_fetch_deny', 'template_fetch_allow', 'max_members_per_group', 'call_limit', 'load_balancer_image',
    'load_balancer_flavor', 'auth_encryption_key', 'auth_decryption_keys', 'auth_encryption_key_id',
    'auth_decryption_key_ids', 'timeout', 'max_requests', 'max_answer_size', 'max_answer_time', 'cloud_backend', 'host',
    'num_engine_workers', 'periodic_interval', 'default_publisher_id', 'stack_set_patience'})
TRUSTEE = 'trustee'                         # the login to which the trusts of stacks are given
LOGIN = ('username', 'user_domain_id', 'user_domain_name')


@dataclass(frozen=True, repr=False)
class Configuration:
    """`differing`: (option, in Heat, in heatlite) of those that decide what becomes of stacks."""

    connection: str
    key: str
    differing: tuple[tuple[str, str, str], ...]


def load(files: list[Path], ours: cfg.ConfigOpts) -> Configuration:
    """Read the files, later ones over earlier ones; variables of the environment are those of heatlite. Raises Error,
    which names what is wrong with them."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('connection', secret=True), group='database')
    conf.register_opt(cfg.StrOpt('auth_encryption_key', secret=True, default=DEFAULT_KEY))
    for group, option in compared():
        conf.register_opt(option, group=None if group == settings.DEFAULT else group)
    for each in (conf, ours):
        _register_login(each)
    for file in files:
        if not file.is_file():
            raise exception.Error(_('The configuration of Heat, %s, cannot be read.') % file)
    try:
        conf([], project='heat', default_config_files=[str(file) for file in files], default_config_dirs=[],
             use_env=False)
        if not conf.database.connection:
            raise exception.Error(_('The configuration of Heat does not set [database] connection.'))
        return Configuration(conf.database.connection, conf.auth_encryption_key, tuple(_differing(conf, ours)))
    except cfg.Error as error:
        raise exception.Error(_('The configuration of Heat cannot be read: %s') % error) from None


def compared() -> list[tuple[str, cfg.Opt]]:
    """Return (group, option) of all options of Heat that have an effect here."""
    return [(group, option) for group in GROUPS for option in options.GROUPS[group]
            if option.dest not in NOT_COMPARED and not (option.help or '').startswith(settings.WITHOUT_EFFECT)]


def _register_login(conf: cfg.ConfigOpts) -> None:
    from keystoneauth1 import loading
    conf.register_opts([option for option in loading.get_auth_plugin_conf_options('password') if option.dest in LOGIN],
                       group=TRUSTEE)


def _differing(theirs: cfg.ConfigOpts, ours: cfg.ConfigOpts) -> Iterator[tuple[str, str, str]]:
    places = [(group, option.dest, bool(option.secret)) for group, option in compared()]
    for group, name, is_secret in [*places, *((TRUSTEE, name, False) for name in LOGIN)]:
        there, here = _value(theirs, group, name), _value(ours, group, name)
        if there != here:
            yield (name if group == settings.DEFAULT else f'[{group}] {name}',
                   *((_('a secret'), _('another one')) if is_secret else (_shown(there), _shown(here))))


def _value(conf: cfg.ConfigOpts, group: str, name: str) -> object:
    """Return the value of an option; of one that heatlite does not accept, a text that says so."""
    try:
        return conf[name] if group == settings.DEFAULT else conf[group][name]
    except (cfg.ConfigFileValueError, ValueError) as error:
        return _('not allowed here: %s') % str(error).rpartition(': ')[2]


def _shown(value: object) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list) else '' if value is None else str(value)
