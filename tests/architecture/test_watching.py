"""Dashboard and alerts name metrics of the product, and the rules are valid."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from heatlite.common import metrics
from heatlite.engine.clients import call_metrics
from tests.architecture.source import ROOT

ALERTS = ROOT / 'etc' / 'heatlite' / 'prometheus' / 'alerts.yaml'
DASHBOARD = ROOT / 'etc' / 'heatlite' / 'grafana' / 'heatlite.json'
SUFFIXES = {'counter': ('_total',), 'gauge': ('',), 'histogram': ('_bucket', '_count', '_sum')}
KNOWN = {family.name + suffix for family in metrics.registry.collect() for suffix in SUFFIXES[family.type]}
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())['groups'] for rule in group['rules']]
EXPRESSIONS = [rule['expr'] for rule in RULES] + [
    target['expr'] for panel in json.loads(DASHBOARD.read_text())['panels'] for target in panel['targets']]


def test_metrics_that_are_named_exist():
    named = {name for expression in EXPRESSIONS for name in re.findall(r'heatlite_\w+', expression)}
    assert named - KNOWN == set() and len(named) > 8


def test_each_alert_is_documented():
    page = (ROOT / 'docs' / 'operators' / 'running.rst').read_text()
    assert [rule['alert'] for rule in RULES if f"``{rule['alert']}``" not in page] == []


@pytest.mark.skipif(not shutil.which('promtool'), reason='needs promtool, of the package prometheus')
def test_prometheus_takes_the_rules():
    done = subprocess.run(['promtool', 'check', 'rules', str(ALERTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def no_services(monkeypatch):
    monkeypatch.setattr(metrics, '_services', set())


class Answer:
    status_code = 202


class Refused(Exception):
    http_status = 404


def raising(error):
    def send():
        raise error
    return send


@pytest.mark.parametrize('send, outcome', [
    pytest.param(Answer, '2xx', id='answer'), pytest.param(raising(Refused()), '4xx', id='refused'),
    pytest.param(raising(OSError()), 'none', id='no-answer')])
def test_requests_to_services_are_counted_by_outcome(no_services, send, outcome):
    labels = {'service': 'a-service-of-this-test', 'outcome': outcome}
    ticks = iter((10.0, 12.5))
    try:
        call_metrics.timed({'endpoint_filter': {'service_type': labels['service']}}, send, lambda: next(ticks))
    except (Refused, OSError):
        assert outcome != '2xx'
    assert metrics.registry.get_sample_value('heatlite_service_seconds_count', labels) == 1
    assert metrics.registry.get_sample_value('heatlite_service_seconds_sum', labels) == 2.5


def test_names_of_services_are_bounded(no_services):
    labels = {metrics.service_label(f'made-up-{number}') for number in range(200)}
    assert len(labels) <= 65 and 'other' in labels
