"""doctor finds engines of Heat in the virtual host, whose queue has the same name."""

import os
import time

import pytest
from oslo_config import cfg

from heatlite.cmd import check_config
from heatlite.cmd.doctor import broker
from heatlite.cmd.doctor.site import Site
from heatlite.common import config

URL = os.environ.get('HEATLITE_TEST_RABBIT_URL')


@pytest.fixture
def site():
    if not URL:
        pytest.skip('no RabbitMQ: HEATLITE_TEST_RABBIT_URL is unset (tools/services up)')
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    check_config.register_libraries(conf)
    conf.set_override('transport_url', URL)
    return Site(conf, 10.0, time.time)


@pytest.fixture
def listener(site, monkeypatch):
    """A queue with a consumer, in place of that of Heat's engines: other tests use the same broker."""
    name = f'{broker.HEAT_LISTENER}-{os.getpid()}'
    monkeypatch.setattr(broker, 'HEAT_LISTENER', name)
    with broker.channel(site, *broker.first(site)) as channel:
        channel.queue_declare(name, auto_delete=True, durable=False, exclusive=False)
        yield channel


def test_a_running_heat_is_named(site, listener):
    assert list(broker.shared(site)) == []
    listener.basic_consume(broker.HEAT_LISTENER)
    found, = broker.shared(site)
    assert 'Engines of Heat are in the virtual host' in found.found and '[engine] topic' in found.fix
    site.conf.set_override('topic', 'heatlite', group='engine')
    assert list(broker.shared(site)) == []


def test_no_heat(site, monkeypatch):
    monkeypatch.setattr(broker, 'HEAT_LISTENER', 'heat-engine-listener-of-none')
    assert list(broker.shared(site)) == []
