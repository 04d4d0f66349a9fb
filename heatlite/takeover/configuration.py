"""Reads the configuration of a Heat: where its database is, its key, and what should be the same in heatlite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from heatlite.common import exception, options
from heatlite.common.i18n import _

DEFAULT_KEY = 'notgood but just long enough i t'        # of a Heat whose configuration sets none
# Options of [DEFAULT] that decide what becomes of stacks, beside the key.
COMPARED = (
    'stack_user_domain_id', 'stack_user_domain_name', 'stack_domain_admin', 'heat_stack_user_role',
    'region_name_for_services', 'region_name_for_shared_services', 'shared_services_types',
    'deferred_auth_method', 'trusts_delegated_roles', 'hidden_stack_tags', 'heat_metadata_server_url',
    'heat_waitcondition_server_url', 'default_software_config_transport', 'default_deployment_signal_transport',
    'default_user_data_format', 'max_nested_stack_depth')


@dataclass(frozen=True, repr=False)
class Configuration:
    """`differing`: (option, in Heat, in heatlite) of COMPARED."""

    connection: str
    key: str
    differing: tuple[tuple[str, str, str], ...]


def load(files: list[Path], ours: cfg.ConfigOpts) -> Configuration:
    """Read the files, later ones over earlier ones. Raises Error, which names what is wrong with them."""
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('connection', secret=True), group='database')
    conf.register_opt(cfg.StrOpt('auth_encryption_key', secret=True, default=DEFAULT_KEY))
    known = {option.name: option for option in options.GROUPS['DEFAULT']}
    conf.register_opts([known[name] for name in COMPARED])
    for file in files:
        if not file.is_file():
            raise exception.Error(_('The configuration of Heat, %s, cannot be read.') % file)
    try:
        conf([], project='heat', default_config_files=[str(file) for file in files], default_config_dirs=[])
        if not conf.database.connection:
            raise exception.Error(_('The configuration of Heat does not set [database] connection.'))
        return Configuration(conf.database.connection, conf.auth_encryption_key, tuple(_differing(conf, ours)))
    except cfg.Error as error:
        raise exception.Error(_('The configuration of Heat cannot be read: %s') % error) from None


def _differing(theirs: cfg.ConfigOpts, ours: cfg.ConfigOpts) -> Iterator[tuple[str, str, str]]:
    for name in COMPARED:
        if theirs[name] != ours[name]:
            yield name, _shown(theirs[name]), _shown(ours[name])


def _shown(value: object) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list) else '' if value is None else str(value)
