"""An HTTP server on loopback whose answers a test makes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Mapping[str, str], Any]         # status, further headers, the body as a value for JSON; None: none


@contextmanager
def answering(answer: Callable[[Any], Answer]) -> Iterator[str]:
    """Serves until the block ends; gives the URL, without a path. `answer`: from the JSON of a POST to its answer."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, headers, value = answer(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
            body = b'' if value is None else json.dumps(value).encode()
            self.send_response(status)
            for name, text in {**headers, 'Content-Length': str(len(body))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_what: Any) -> None:
            pass

    with ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f'http://127.0.0.1:{server.server_port}'
        finally:
            server.shutdown()
