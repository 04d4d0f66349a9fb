"""Metrics are documented, dashboard and alerts name metrics of the product, and the rules are valid."""

import functools
import inspect
import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from heatlite.common import metrics, retries
from heatlite.engine.clients import call_metrics
from heatlite.engine.requests import plans
from tests.architecture.source import ROOT

ALERTS = ROOT / 'etc' / 'heatlite' / 'prometheus' / 'alerts.yaml'
DASHBOARD = ROOT / 'etc' / 'heatlite' / 'grafana' / 'heatlite.json'
OF_ENGINES = ('HeatliteNoEngine', 'HeatliteStepsWait', 'HeatliteJournalWaits', 'HeatliteLeaseEnds')
SUFFIXES = {'counter': ('_total',), 'gauge': ('',), 'histogram': ('_bucket', '_count', '_sum')}
FAMILIES = [family for registry in (metrics.registry, metrics.of_engines) for family in registry.collect()]
KNOWN = {family.name + suffix for family in FAMILIES for suffix in SUFFIXES[family.type]}
API = """
from heatlite.api import deploy
from heatlite.api.cfn import deploy as cfn
from heatlite.api.cloudwatch import deploy as cloudwatch
from heatlite.cmd import serving
from heatlite.rpc import client
from heatlite.common import config, metrics
from heatlite.db.connection import Database
conf = config.load(['--set', 'paste_deploy.flavor=noauth', '--set', 'ec2authtoken.auth_uri=http://127.0.0.1:5000/v3'],
                   'heatlite-api', default_files=[])
for each in (deploy, cfn, cloudwatch):
    each.build(conf, Database('sqlite:////nowhere/heatlite.sqlite'), None)
print(metrics.text().decode())
"""
RULES_TEST = """
rule_files: [{rules}]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series: {series}
    alert_rule_test:
      - {{eval_time: 5m, alertname: HeatliteNoEngine, exp_alerts: {alerts}}}
"""
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
    assert len(made) == len(FAMILIES)


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


@functools.cache
def served_by_api():
    """Samples of the metrics of a process that has APIs only: {name: value}."""
    done = subprocess.run([sys.executable, '-c', API], capture_output=True, text=True, check=True, timeout=120)
    return dict(line.rsplit(' ', 1) for line in done.stdout.splitlines() if line.startswith('heatlite_'))


def test_api_serves_no_metrics_of_engines():
    of_engines = {family.name + suffix for family in metrics.of_engines.collect() for suffix in SUFFIXES[family.type]}
    assert {name for name in served_by_api() if name.partition('{')[0] in of_engines} == set()
    assert 'heatlite_rpc_waiting' in served_by_api() and 'heatlite_lease_seconds_left' in of_engines


def test_gauges_that_rules_compare_with_zero_are_not_of_apis():
    named = {name for rule in RULES if rule['alert'] in OF_ENGINES
             for name in re.findall(r'heatlite_\w+', rule['expr'])}
    assert named and named & {name.partition('{')[0] for name in served_by_api()} == set()


@pytest.mark.skipif(not shutil.which('promtool'), reason='needs promtool, of the package prometheus')
@pytest.mark.parametrize('lease, fires', [
    pytest.param(None, True, id='no-engine'), pytest.param(-30, True, id='no-lease'),
    pytest.param(9, False, id='engine')])
def test_missing_engines_are_noticed_beside_an_api(tmp_path, lease, fires):
    series = [{'series': _labelled(name, 'heatlite-api'), 'values': f'{value}+0x20'}
              for name, value in served_by_api().items()]
    if lease is not None:
        series.append({'series': _labelled('heatlite_lease_seconds_left', 'heatlite-engine'),
                       'values': f'{lease}+0x20'})
    alerts = [{'exp_labels': {'severity': 'critical'}, 'exp_annotations': next(
        rule['annotations'] for rule in RULES if rule['alert'] == 'HeatliteNoEngine')}] if fires else []
    test = tmp_path / 'test.yaml'
    test.write_text(RULES_TEST.format(rules=ALERTS, series=json.dumps(series), alerts=json.dumps(alerts)))
    done = subprocess.run(['promtool', 'test', 'rules', str(test)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _labelled(name, job):
    return f'{name[:-1]},job="{job}"}}' if name.endswith('}') else f'{name}{{job="{job}"}}'


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
    assert metrics.of_engines.get_sample_value('heatlite_service_seconds_count', labels) == 1
    assert metrics.of_engines.get_sample_value('heatlite_service_seconds_sum', labels) == 2.5


def test_names_of_services_are_bounded(no_services):
    labels = {metrics.service_label(f'made-up-{number}') for number in range(200)}
    assert len(labels) <= 65 and 'other' in labels
