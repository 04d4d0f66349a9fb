"""Defaults of properties that the operator's options give, in every type whose catalogue entry says so."""

import json
import subprocess
import sys

import pytest

from heatlite.engine.resources import packed
from tests.architecture.source import ROOT

# The classes ask for this option when they need the value.
ASKED_LATER = {'default_deployment_signal_transport'}
SAID = [(name, prop, body['default_from_config']) for name in packed.names()
        for prop, body in packed.facts(name).get('properties', {}).items()
        if body.get('default_from_config', '') not in {'', *ASKED_LATER}]
OTHER = {'default_software_config_transport': 'ZAQAR_MESSAGE', 'default_user_data_format': 'RAW'}
READ = '''
import json, sys
from oslo_config import cfg
from heatlite.common import config
config.register(cfg.CONF)
for name, value in json.loads(sys.argv[1]).items():
    cfg.CONF.set_override(name, value)
from heatlite.engine.types import registry
types = registry.create()
kinds = [(types.resolve(name, 'r'), prop) for name, prop, _option in json.loads(sys.argv[2])]
print(json.dumps([kind.properties_schema[prop].default for kind, prop in kinds]))
'''


def test_each_option_has_another_value_here():
    assert {option for _name, _prop, option in SAID} == set(OTHER)


@pytest.fixture(scope='module')
def defaults():
    """In a process whose options have those values from the start."""
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', READ, json.dumps(OTHER), json.dumps(SAID)], cwd=ROOT,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize('number', range(len(SAID)), ids=[f'{name}.{prop}' for name, prop, _ in SAID])
def test_the_default_is_the_option_s(defaults, number):
    assert defaults[number] == OTHER[SAID[number][2]]
