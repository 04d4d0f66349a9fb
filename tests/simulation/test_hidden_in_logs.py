"""Whatever types, services and libraries say of the values they were given, no hidden one gets into the log."""

from __future__ import annotations

import logging

import pytest
from oslo_config import cfg
from oslo_log import log

from heatlite.common import config, logs
from heatlite.engine.translation import TranslationRule
from heatlite.rpc import messages
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done

SECRET = 'canary-5f0c21e7'


class Refusal(Exception):
    """Of a service."""


class Finder:
    @staticmethod
    def find(value):
        raise Refusal(f'no thing {value!r}')

    @staticmethod
    def is_not_found(error):
        return isinstance(error, Refusal)


class Talkative(cloud.Thing):
    """Its errors quote what it was given."""

    defect = False

    def _fail(self):
        value = self.properties[self.VALUE]
        logging.getLogger('some.library').info('Body of the request: %s', value)
        raise (TypeError if self.defect else Refusal)(f'wrong value {value!r}')

    def add_explicit_dependencies(self, needs):
        super().add_explicit_dependencies(needs)
        self._fail()

    def handle_create(self):
        self._fail()

    def find_existing(self):
        self._fail()

    def handle_signal(self, details=None):
        self._fail()

    def handle_delete(self):
        logging.getLogger('some.library').info('Deletes what was made of %s', self.properties[self.VALUE])


class Defective(Talkative):
    defect = True


class Translating(Talkative):
    """No name that it is given can be found."""

    def translation_rules(self, properties):
        return [TranslationRule(properties, TranslationRule.RESOLVE, [self.VALUE], client_plugin=Finder, finder='find')]

    def handle_delete(self):
        assert self.properties[self.VALUE]


class Lines(logging.Handler):
    def __init__(self, conf, found):
        super().__init__(logging.DEBUG)
        self.found = found
        self.forms = [logs.LineFormatter(conf, 'x'), logs.JsonFormatter(),
                      logs.OneLineFormatter(logging.Formatter('%(message)s'))]

    def emit(self, record):
        self.found += [form.format(record) for form in self.forms]


@pytest.fixture
def lines():
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], default_config_files=[])
    conf.set_default('logging_context_format_string', config.LOG_LINE)
    found, root = [], logging.getLogger()
    handler, level = Lines(conf, found), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield found
    root.removeHandler(handler)
    root.setLevel(level)


def template():
    return {'heat_template_version': '2018-08-31',
            'parameters': {'secret': {'type': 'string', 'hidden': True}},
            'resources': {'r': {'type': 'Sim::Talkative', 'properties': {'value': {'get_param': 'secret'}}}}}


@pytest.mark.parametrize('kind, said', [
    (Talkative, 'Body of the request: ******'), (Defective, 'TypeError: wrong value'),
    (Translating, "Keeping '******' as it was given: no thing '******'")])
def test_no_hidden_value_is_logged(lines, kind, said):
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Talkative', kind)
        given = {'parameters': {'secret': SECRET}}
        stack_id = cluster.create('s', template(), environment=given)
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED'
        cluster.ask(messages.PreviewStack(template=template(), environment=given, stack_name='t'))
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
    assert any(said in line for line in lines)
    assert [line for line in lines if SECRET in line] == []
