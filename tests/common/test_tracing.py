"""The contexts of traces: what is continued, what follows from stored values, and that nothing is loaded while off."""

import subprocess
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import tracing
from heatlite.common.tracing import SpanContext, SpanKind, Tracer, derived, parsed
from heatlite.engine.clients.call_spans import shown_path
from tests.system.processes import ROOT

TRACE, SPAN = '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'
ONE = SpanContext(TRACE, SPAN, True)


@pytest.fixture
def ended(monkeypatch):
    spans = []
    monkeypatch.setattr(tracing, 'tracer', Tracer(spans.append))
    return spans


@pytest.mark.parametrize('text, found', [
    (f'00-{TRACE}-{SPAN}-01', ONE),
    (f'00-{TRACE}-{SPAN}-00', SpanContext(TRACE, SPAN, False)),
    (f'00-{TRACE}-{SPAN}-ff', ONE),
    (f'cc-{TRACE}-{SPAN}-01-what comes later', ONE),
    (f'00-{TRACE}-{SPAN}-01-more', None),
    (f'ff-{TRACE}-{SPAN}-01', None),
    (f'00-{TRACE.upper()}-{SPAN}-01', None),
    (f'00-{"0" * 32}-{SPAN}-01', None),
    (f'00-{TRACE}-{"0" * 16}-01', None),
    (f'00-{TRACE}-{SPAN}', None),
    ('', None), (None, None), (7, None), ([], None), (f'00-{TRACE}-{SPAN}-01\n', None),
])
def test_traceparent(text, found):
    assert parsed({'traceparent': text}) == found


@pytest.mark.parametrize('state, kept', [
    ('a=1', True), ('a=1,b=2', True), ('a=1, tenant@vendor=x y', True), ('', True), ('a=1,,b=2', True),
    ('a', False), ('A=1', False), ('a=\n', False), ('a=1\r\nX-Other: 1', False), ('a=' + 'x' * 600, False),
    (','.join(f'k{number}=1' for number in range(33)), False), ('a=é', False), (3, False)])
def test_tracestate(state, kept):
    found = parsed({'traceparent': f'00-{TRACE}-{SPAN}-01', 'tracestate': state})
    assert found == SpanContext(TRACE, SPAN, True, state if kept else '')


@given(st.text(), st.text())
def test_any_header_is_read_without_an_error(parent, state):
    found = parsed({'traceparent': parent, 'tracestate': state})
    assert found is None or parsed(found.headers()) == found


def test_what_is_sent_can_be_read():
    assert parsed(ONE.headers()) == ONE


def test_ids_of_stored_work_are_the_same_in_each_process(ended):
    assert derived(ONE, 'stack', 3) == derived(ONE, 'stack', 3) != derived(ONE, 'stack', 4)
    assert derived(ONE, 'stack', 3).trace_id == TRACE
    assert derived(None, 'stack', 3) == derived(None, 'stack', 3) != derived(None, 'stack', 4)
    assert derived(SpanContext(TRACE, SPAN, False), 'x').is_sampled is False


@pytest.mark.parametrize('ratio, share', [(0.0, (0, 0)), (1.0, (1000, 1000)), (0.5, (400, 600))])
def test_the_share_of_sampled_traces(ratio, share):
    tracer = Tracer(lambda span: None, ratio)
    assert share[0] <= sum(tracer.root().is_sampled for _number in range(1000)) <= share[1]


def test_spans_are_nested_and_end_once(ended):
    with tracing.tracer.span('outer', SpanKind.SERVER, None) as outer:
        assert tracing.current() == outer.context
        with pytest.raises(ValueError), tracing.tracer.span('inner', SpanKind.INTERNAL, tracing.current()) as inner:
            raise ValueError('a hidden value')
        assert tracing.current() == outer.context
    assert tracing.current() is None
    assert ended == [inner, outer]
    assert (inner.parent, inner.error) == (outer.context, 'ValueError')
    tracing.tracer.end(outer)
    assert len(ended) == 2


def test_what_is_not_sampled_is_continued_and_not_sent(ended):
    with tracing.tracer.span('one', SpanKind.SERVER, SpanContext(TRACE, SPAN, False)):
        assert tracing.headers()['traceparent'].endswith('-00')
    assert ended == []


def test_attributes_are_bounded(ended):
    span = tracing.tracer.begin('one', SpanKind.INTERNAL, None)
    span.note(heatlite__stack__name='x' * 5000, none=None)
    assert span.attributes == {'heatlite.stack.name': 'x' * tracing.LONGEST}


def test_times():
    assert tracing.nanoseconds(datetime(1970, 1, 1, 0, 0, 1, 5)) == 1_000_005_000


@pytest.mark.parametrize('service, url, shown', [
    ('compute', '/servers/c0ffee00-0000-4000-8000-00000000cafe/action?x=1',
     '/servers/c0ffee00-0000-4000-8000-00000000cafe/{}'),
    ('network', 'http://cloud:9696/v2.0/networks?name=secret', '/v2.0/networks'),
    ('compute', '/os-keypairs/secret', '/os-keypairs/{}'),
    ('object-store', '/v1/AUTH_x/secret/secret', '/v1/{}/{}/{}'),
])
def test_paths_without_a_mask_show_no_names(service, url, shown):
    assert shown_path(service, url, None) == shown


def test_paths_with_a_mask():
    assert shown_path('compute', '/os-keypairs/secret?name=secret', lambda text: text.replace('secret', '***')) == (
        '/os-keypairs/***')


# oslo.middleware imports OpenTelemetry where it is installed, for a filter of its own; only API processes import it.
@pytest.mark.parametrize('modules, unwanted', [
    (['heatlite.cmd.engine', 'heatlite.engine.service', 'heatlite.rpc.client'], ('opentelemetry', 'google.protobuf')),
    (['heatlite.api.deploy', 'heatlite.cmd.all_in_one', 'heatlite.cmd.serving', 'heatlite.wsgi.lazy'],
     ('opentelemetry.exporter', 'google.protobuf', 'heatlite.common.trace_export'))])
def test_nothing_of_opentelemetry_is_loaded_while_off(modules, unwanted):
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', f'''
import sys
from importlib import import_module
for name in {modules}:
    import_module(name)
from heatlite.common import config, tracing
from oslo_config import cfg
tracing.start(config.load([], 'heatlite', default_files=[]), 'engine')
assert tracing.tracer is None
print([name for name in sys.modules if name.startswith({unwanted})])
'''], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ('[]', 0), done.stderr
