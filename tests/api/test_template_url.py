"""Templates by URL, from a real server: fetched by the API, of bounded size, and only by HTTP."""

import http.server
import threading

import pytest

from heatlite.api import documents
from heatlite.common import config, exception  # noqa: F401 - `config` declares the limits of fetching
from heatlite.common.limits import Limits

TEMPLATE = 'heat_template_version: 2018-08-31\n'


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        match self.path:
            case '/template':
                self.answer(200, TEMPLATE.encode())
            case '/long':
                self.answer(200, b'#' * 600_000)
            case '/elsewhere':
                self.answer(302, b'', Location='/template')
            case '/file':
                self.answer(302, b'', Location='file:///etc/passwd')
            case '/broken':
                self.answer(200, b'a: [1')
            case _:
                self.answer(404, b'')

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {'Content-Length': str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


@pytest.fixture(scope='module')
def url():
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_address[1]}'
        server.shutdown()


@pytest.mark.parametrize('path', ['/template', '/elsewhere'])
def test_a_template(url, path):
    assert documents.template({'template_url': url + path}, Limits()) == (
        {'heat_template_version': '2018-08-31'}, TEMPLATE)


def test_the_template_itself_is_stronger(url):
    assert documents.template({'template': {'a': 1}, 'template_url': url + '/nowhere'}, Limits())[0] == {'a': 1}


@pytest.mark.parametrize('path, words', [
    ('/long', 'Could not retrieve template: Template exceeds maximum allowed size (524288 bytes)'),
    ('/nowhere', 'Could not retrieve template: Failed to retrieve template from'),
    ('/file', 'Could not retrieve template: Failed to retrieve template from'),
    ('/broken', 'Template not in valid format: Error parsing template')])
def test_refusals(url, path, words):
    with pytest.raises(exception.HTTPBadRequest) as refused:
        documents.template({'template_url': url + path}, Limits())
    assert str(refused.value).startswith(words)
