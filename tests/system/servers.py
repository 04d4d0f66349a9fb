"""The HTTP servers that can serve an API of heatlite: its own, gunicorn and uwsgi.

The latter two are started as docs/operators/running.rst says, without what depends on the machine.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.system.processes import Program

NAMES = ('heatlite', 'gunicorn', 'uwsgi')
HOST = '127.0.0.1'
# By the name of the API: the program of heatlite, and the section of its options.
PROGRAMS = {'api': ('heatlite.cmd.api', 'heat_api'), 'cfn': ('heatlite.cmd.api_cfn', 'heat_api_cfn'),
            'cloudwatch': ('heatlite.cmd.api_cloudwatch', 'heat_api_cloudwatch')}
GUNICORN = ('--worker-class', 'gthread', '--threads', '8', '--backlog', '4096', '--keep-alive', '75', '--timeout',
            '120', '--limit-request-line', '8190', '--limit-request-fields', '100', '--limit-request-field_size',
            '16384')
UWSGI = ('--master', '--threads', '8', '--enable-threads', '--die-on-term', '--need-app', '--buffer-size', '65535',
         '--socket-timeout', '30', '--http-timeout', '30', '--harakiri', '120',
         '--add-header', 'Connection: close')


def start(server: str, api: str, file: Path, port: int, log: Path, workers: int = 2, **environment: str) -> Program:
    """`api`: a key of PROGRAMS. `file`: the configuration. `workers`: processes that answer."""
    module, section = PROGRAMS[api]
    application = f'heatlite.wsgi.{api}:application'
    environment = {'HEATLITE_CONFIG': str(file), **environment}
    command: tuple[Any, ...]
    match server:
        case 'heatlite':
            return Program(log, '--config-file', file, '--set', f'{section}.bind_port={port}', '--workers', workers,
                           module=module, **environment)
        case 'gunicorn':
            pytest.importorskip('gunicorn')
            command = (*GUNICORN, '--workers', workers, '--bind', f'{HOST}:{port}', application)
            return Program(log, *command, module='gunicorn', **environment)
        case 'uwsgi':
            program = os.path.join(os.path.dirname(sys.executable), 'uwsgi')
            if not os.path.exists(program):
                pytest.skip('no uwsgi beside this Python')
            command = (*UWSGI, '--processes', workers, '--http-socket', f'{HOST}:{port}', '--module', application)
            return Program(log, program, *command, **environment)
    raise ValueError(server)
