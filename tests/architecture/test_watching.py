"""Metrics are documented, dashboard and alerts name metrics of the product, and the rules are valid."""

import inspect
import json
import re
import shutil
import subprocess

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from heatlite.common import metrics, retries
from heatlite.engine.clients import call_metrics
from heatlite.engine.requests import plans
from tests.architecture.source import ROOT

ALERTS = ROOT / 'etc' / 'heatlite' / 'prometheus' / 'alerts.yaml'
DASHBOARD = ROOT / 'etc' / 'heatlite' / 'grafana' / 'heatlite.json'
SUFFIXES = {'counter': ('_total',), 'gauge': ('',), 'histogram': ('_bucket', '_count', '_sum')}
KNOWN = {family.name + suffix for family in metrics.registry.collect() for suffix in SUFFIXES[family.type]}
PAGE = (ROOT / 'docs' / 'operators' / 'metrics.rst').read_text()
ROW = re.compile(r'^``(heatlite_\w+)`` +(counter|gauge|histogram) +(\\-|[a-z]+(?:, [a-z]+)*) +(\w+.*?) {1,}\S', re.M)
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())['groups'] for rule in group['rules']]
EXPRESSIONS = [rule['expr'] for rule in RULES] + [
    target['expr'] for panel in json.loads(DASHBOARD.read_text())['panels'] for target in panel['targets']]


def test_metrics_that_are_named_exist():
    named = {name for expression in EXPRESSIONS for name in re.findall(r'heatlite_\w+', expression)}
    assert named - KNOWN == set() and len(named) > 8


def test_each_metric_is_documented_with_its_kind_and_labels():
    made = {(found._name + ('_total' if found._type == 'counter' else ''), found._type,
             ', '.join(found._labelnames) or r'\-') for found in vars(metrics).values()
            if isinstance(found, MetricWrapperBase)}
    assert {row[:3] for row in ROW.findall(PAGE)} == made
    assert len(made) == len(list(metrics.registry.collect()))


def test_nothing_else_is_served():
    with metrics.http_seconds.labels('/', 'GET', '200').time():
        served = re.findall(r'^(heatlite_\w+)', metrics.text().decode(), re.M)
    metrics.http_seconds.remove('/', 'GET', '200')
    assert set(served) - KNOWN == set() and 'heatlite_http_seconds_bucket' in served


@pytest.mark.parametrize('policy',
                         [found for found in vars(retries).values() if isinstance(found, retries.RetryPolicy)],
                         ids=lambda policy: policy.kind)
def test_each_kind_of_retry_is_documented(policy):
    assert f'\n``{policy.kind}`` ' in PAGE


def test_reasons_of_refused_plans_are_documented():
    reasons = re.findall(r'_refused_as\((.*)\)', inspect.getsource(plans.Plans.apply))
    named = {name for each in reasons for name in re.findall(r"'(\w+)'", each)}
    assert len(named) == 10 and [name for name in named if f'\n``{name}`` ' not in PAGE] == []


def test_each_alert_is_documented():
    assert [rule['alert'] for rule in RULES if f"\n``{rule['alert']}``" not in PAGE] == []
    assert set(re.findall(r'^``(Heatlite\w+)``', PAGE, re.M)) == {rule['alert'] for rule in RULES}


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
