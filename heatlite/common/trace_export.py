"""Sends spans to a receiver of OpenTelemetry's protocol (OTLP over HTTP). The only file that imports OpenTelemetry.

The SDK's batch processor has a bounded queue and a thread of its own: no request waits for the receiver. Under
cooperative threads it is one of those. Spans that the receiver does not take in time, or that find the queue full, are
lost; the log has one line at the begin of an outage, one a minute while it lasts, and one at its end.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence

from oslo_config import cfg

from heatlite.common import exception, outages, release
from heatlite.common.i18n import _
from heatlite.common.tracing import Span, SpanContext

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
except ImportError as error:
    raise exception.Error(_('[traces] endpoint is set, and the extra "traces" of heatlite is not installed (%s). ')
                          % error + release.INSTALL_EXTRA % 'traces') from None

RECEIVER = 'receiver of traces'
BATCH = 256                     # most spans in one request: some milliseconds of encoding
DELAY = 1.0                     # seconds that a span waits for others
LAST = 3.0                      # seconds in which the rest is sent when the process ends
LIBRARIES = ('opentelemetry.exporter.otlp.proto.http', 'opentelemetry.sdk._shared_internal')


class _LastMessage(logging.Filter):
    """Keeps the last message of a library instead of logging it: the library logs each failed attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ''

    def filter(self, record: logging.LogRecord) -> bool:
        self.text = record.getMessage()[:200]
        return False


class Reporting(SpanExporter):
    """Sends batches with `inner`, and reports outages of the receiver as those of other services are."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._last = _LastMessage()
        for name in LIBRARIES:
            for logger in (name, f'{name}.trace_exporter'):
                logging.getLogger(logger).addFilter(self._last)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        found = self._inner.export(spans)
        if found is SpanExportResult.SUCCESS:
            if outages.current:
                outages.back(RECEIVER)
        else:
            outages.away(RECEIVER, self._last.text or 'it does not take spans')
        return found

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True


class Exporter:
    """Called with each span that has ended."""

    def __init__(self, exporter: SpanExporter, service: str, version: str, queue_size: int) -> None:
        """`service`: the name under which receivers list the spans; `queue_size`: most spans that wait."""
        self._resource = Resource.create({'service.name': service, 'service.version': version,
                                          'host.name': socket.gethostname()})
        self._scope = InstrumentationScope('heatlite', version)
        self._processor = BatchSpanProcessor(Reporting(exporter), max_queue_size=queue_size,
                                             max_export_batch_size=min(BATCH, queue_size),
                                             schedule_delay_millis=DELAY * 1000)

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, service: str) -> Exporter:
        """Return the exporter as the options of [traces] say. Raises Error for a wrong header."""
        options = conf.traces
        sent = {}
        for each in options.headers:
            name, equals, value = each.partition('=')
            if not equals or not name.strip().isascii() or not value.strip().isprintable():
                raise exception.Error(_('[traces] headers: wanted NAME=VALUE, with printable values.'))
            sent[name.strip()] = value.strip()
        return cls(OTLPSpanExporter(endpoint=options.endpoint, headers=sent, timeout=options.timeout,
                                    certificate_file=options.ca_file),
                   f'{options.service_prefix}-{service}', release.version(), options.queue_size)

    def __call__(self, span: Span) -> None:
        self._processor.on_end(ReadableSpan(
            name=span.name, context=_context(span.context),
            parent=None if span.parent is None else _context(span.parent, is_remote=True), resource=self._resource,
            attributes=span.attributes, kind=trace.SpanKind[span.kind.value],
            status=trace.Status(trace.StatusCode.UNSET) if span.error is None
            else trace.Status(trace.StatusCode.ERROR, span.error),
            start_time=span.began, end_time=span.ended, instrumentation_scope=self._scope))

    def stop(self) -> None:
        """Send the rest, for LAST seconds at most."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(LAST)


def _context(context: SpanContext, is_remote: bool = False) -> trace.SpanContext:
    return trace.SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote,
                             trace.TraceFlags(trace.TraceFlags.SAMPLED if context.is_sampled else 0),
                             trace.TraceState.from_header([context.state]) if context.state else None)
