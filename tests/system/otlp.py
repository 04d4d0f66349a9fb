"""A receiver of traces: OTLP over HTTP, as an OpenTelemetry collector is. Keeps all spans, and what came as bytes."""

import contextlib
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.system.processes import eventually


class Received:
    """A span as it arrived. Ids: hexadecimal; `error`: None unless it failed."""

    def __init__(self, span, service):
        self.service = service
        self.name = span.name
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.began, self.ended = span.start_time_unix_nano, span.end_time_unix_nano
        self.error = span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None
        self.state = span.trace_state
        self.attributes = {each.key: getattr(each.value, each.value.WhichOneof('value')) for each in span.attributes}

    def __repr__(self):
        return f'{self.service}: {self.name} {self.id} < {self.parent} {self.attributes} {self.error or ""}'

    def __getitem__(self, name):
        return self.attributes.get(name)


class Receiver:
    def __init__(self):
        self.spans, self.bodies, self.headers = [], [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                receiver.take(body, self.headers)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header('Content-Type', 'application/x-protobuf')
                self.send_header('Content-Length', str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_arguments):
                pass

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}/v1/traces'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self, body, headers):
        self.bodies.append(body)
        self.headers.append(headers)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = next(each.value.string_value for each in resource.resource.attributes
                           if each.key == 'service.name')
            self.spans += [Received(span, service) for scope in resource.scope_spans for span in scope.spans]

    def of(self, trace):
        return [span for span in list(self.spans) if span.trace == trace]

    def trace_of(self, request_id):
        """The spans of the trace of a request, once its action of a stack has ended and all parents are there."""
        def whole():
            traces = {span.trace for span in list(self.spans) if span['openstack.request_id'] == request_id}
            found = [span for trace in traces for span in self.of(trace)]
            ids = {span.id for span in found}
            has_end = any(span.name.endswith(' stack') for span in found)
            is_whole = has_end and all(span.parent in ids for span in found if span.parent)
            return found if is_whole and any(not span.parent for span in found) else None
        return eventually('a whole trace', whole)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def receiving():
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.close()


def tree(spans):
    """{id of the parent, '' for the first: its spans}."""
    found = defaultdict(list)
    for span in spans:
        found[span.parent].append(span)
    return found
