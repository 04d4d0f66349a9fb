"""Writes configuration files of heatlite for tests. Needs the standard library only: `tools/keystone` uses it.

A configuration is a mapping of sections, each a mapping of options to values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heatlite.cmd.setup import identity as setup

Sections = Mapping[str, Mapping[str, Any]]


def write(file: Path, *parts: Sections) -> None:
    """Writes all `parts` to one file. Where two set the same option, the later one counts."""
    merged: dict[str, dict[str, Any]] = {}
    for part in parts:
        for section, options in part.items():
            merged.setdefault(section, {}).update(options)
    lines = []
    for section, options in merged.items():
        lines += [f'[{section}]', *(f'{name} = {value}' for name, value in options.items())]
    file.touch(mode=0o600)                  # it has passwords
    file.write_text('\n'.join([*lines, '']))


def from_keywords(settings: Mapping[str, Any]) -> Sections:
    """Sections from keyword arguments: a key `GROUP__NAME` sets an option of a group, any other one of DEFAULT."""
    sections: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        group, _, name = key.rpartition('__')
        sections.setdefault(group or 'DEFAULT', {})[name] = value
    return sections


def database(url: str) -> Sections:
    return {'database': {'connection': url}}


def identity(url: str, region: str, user: str, project: str, domain: str, service_role: str | None = None,
             password: str = 'secret') -> Sections:
    """How heatlite logs in to the Keystone at `url`.

    `user` in `project` is the account of the service, both in the domain `default`. `domain`: where users of stacks are
    made, by its administrator `DOMAIN_domain_admin`. `service_role`: the role that service tokens must have, if any.
    """
    return setup.sections(setup.WantedIdentity(
        region, password, password, user=user, project=project, stack_domain=domain, service_role=service_role,
        domain_admin=f'{domain}_domain_admin'), url)


def cluster(*, broker: str, database_url: str, topic: str, port: int, cfn_port: int | None = None,
            cloudwatch_port: int | None = None, host: str = '127.0.0.1') -> Sections:
    """What all processes of one cluster share. `topic`: others may use the same broker. Parameters are sealed."""
    sections: dict[str, dict[str, Any]] = {
        'DEFAULT': {'transport_url': broker, 'auth_encryption_key': '0123456789abcdef0123456789abcdef',
                    'encrypt_parameters_and_properties': 'true'},
        'engine': {'topic': topic},
        **database(database_url),
        'heat_api': {'bind_host': host, 'bind_port': port}}
    if cfn_port is not None:
        sections['heat_api_cfn'] = {'bind_host': host, 'bind_port': cfn_port}
        sections['DEFAULT'] |= {'heat_metadata_server_url': f'http://{host}:{cfn_port}',
                                'heat_waitcondition_server_url': f'http://{host}:{cfn_port}/v1/waitcondition'}
    if cloudwatch_port is not None:
        sections['heat_api_cloudwatch'] = {'bind_host': host, 'bind_port': cloudwatch_port}
        sections['DEFAULT'] |= {'heat_watch_server_url': f'http://{host}:{cloudwatch_port}'}
    return sections
