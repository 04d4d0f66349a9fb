"""The CloudWatch API in this process, and requests to it in each of its protocols."""

from __future__ import annotations

import contextlib
import gzip
import json
from urllib.parse import urlencode
from xml.etree import ElementTree

import cbor2
from oslo_config import cfg

from heatlite.api.cloudwatch import deploy
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import tables
from heatlite.db.connection import Database
from heatlite.engine.service import EngineService
from heatlite.rpc.client import InProcessClient
from tests.api import in_process

NAMESPACE = '{http://monitoring.amazonaws.com/doc/2010-08-01/}'
TARGET = 'GraniteServiceVersion20100801'
FORM = 'application/x-www-form-urlencoded'
OTHER = in_process.OTHER


@contextlib.contextmanager
def serving(folder, **options):
    """(the API with an engine, its database); identity is taken from headers."""
    database = Database(f'sqlite:///{folder}/db.sqlite')
    tables.metadata.create_all(database.engine)
    conf = in_process.options(auth_encryption_key='k' * 32, **options)
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    runtime = GreenRuntime()
    service = EngineService(conf, runtime, database)
    service.start()
    app = deploy.build(conf, database, InProcessClient(runtime, service.endpoint), identity=in_process.Verified)
    yield app, database
    service.stop()
    database.close()
    cfg.CONF.clear_override('auth_encryption_key')


class Answer:
    """`code`: of an error; None when there is none. `result`: of the action."""

    def __init__(self, status, headers, code=None, message='', result=None):
        self.status, self.headers, self.code, self.message, self.result = status, headers, code, message, result


class Client:
    """`ask(action, input)`: one request of a project."""

    def __init__(self, app, project=in_process.PROJECT, roles='member,reader'):
        self.app, self.who = app, {'X-Project-Id': project, 'X-Roles': roles}

    def send(self, method, path, body=b'', **headers):
        """(status, headers in lower case, body)"""
        GreenRuntime().sleep(0.001)                     # the engine of this process runs
        answer = in_process.ask(self.app, method, path, body or None, project=None, headers={**self.who, **headers})
        return answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, answer.body


class Query(Client):
    """The query protocol, in a form."""

    def ask(self, action, wanted=None):
        status, headers, body = self.send('POST', '/v1/', urlencode(
            {'Action': action, 'Version': '2010-08-01', **dict(flat(wanted or {}))}).encode(), **{'Content-Type': FORM})
        assert headers['content-type'].lower() == 'application/xml; charset=utf-8'
        return xml(action, status, headers, body)


class QueryGet(Client):
    """The query protocol, in the query string."""

    def ask(self, action, wanted=None):
        return xml(action, *self.send('GET', '/v1/?' + urlencode({'Action': action, **dict(flat(wanted or {}))})))


class QueryJson(Client):
    """The query protocol with answers in JSON."""

    def ask(self, action, wanted=None):
        status, headers, body = self.send('POST', '/v1/', urlencode(
            {'Action': action, 'ContentType': 'JSON', **dict(flat(wanted or {}))}).encode(), **{'Content-Type': FORM})
        said = json.loads(body)
        if status != 200:
            return Answer(status, headers, said['ErrorResponse']['Error']['Code'],
                          said['ErrorResponse']['Error']['Message'])
        content = said[f'{action}Response']
        assert content.pop('ResponseMetadata') == {'RequestId': headers['x-amzn-requestid']}
        return Answer(status, headers, result=content.get(f'{action}Result'))


class Json(Client):
    """JSON 1.0, compressed."""

    def ask(self, action, wanted=None):
        status, headers, body = self.send(
            'POST', '/', gzip.compress(json.dumps(wanted or {}).encode()), **{
                'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': f'{TARGET}.{action}',
                'Content-Encoding': 'gzip'})
        assert headers['content-type'] == 'application/x-amz-json-1.0'
        return typed(status, headers, json.loads(body))


class Cbor(Client):
    """rpc-v2-cbor."""

    def ask(self, action, wanted=None):
        status, headers, body = self.send(
            'POST', f'/v1/service/{TARGET}/operation/{action}',
            cbor2.dumps(wanted or {}, datetime_as_timestamp=True), **{
                'Content-Type': 'application/cbor', 'smithy-protocol': 'rpc-v2-cbor'})
        assert (headers['content-type'], headers['smithy-protocol']) == ('application/cbor', 'rpc-v2-cbor')
        return typed(status, headers, cbor2.loads(body))


PROTOCOLS = (Query, QueryGet, QueryJson, Json, Cbor)


def flat(value, prefix=''):
    """(name, text) of the query protocol."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from flat(each, f'{prefix}.{name}' if prefix else name)
    elif isinstance(value, list):
        for number, each in enumerate(value, start=1):
            yield from flat(each, f'{prefix}.member.{number}')
    else:
        yield prefix, str(value).lower() if isinstance(value, bool) else str(value)


def xml(action, status, headers, body):
    root = ElementTree.fromstring(body)
    if status != 200:
        assert root.tag == f'{NAMESPACE}ErrorResponse'
        error = plain(root)
        assert error['RequestId'] == headers['x-amzn-requestid']
        return Answer(status, headers, error['Error']['Code'], error['Error'].get('Message', ''))
    assert root.tag == f'{NAMESPACE}{action}Response'
    found = plain(root)
    assert found['ResponseMetadata'] == {'RequestId': headers['x-amzn-requestid']}
    return Answer(status, headers, result=found.get(f'{action}Result'))


def plain(element):
    """Elements as maps, `member` elements as lists, the rest as texts; an element without content is None."""
    children = list(element)
    if not children:
        return element.text
    if all(each.tag == f'{NAMESPACE}member' for each in children):
        return [plain(each) for each in children]
    return {each.tag.removeprefix(NAMESPACE): plain(each) for each in children}


def typed(status, headers, said):
    if status == 200:
        return Answer(status, headers, result=said)
    code, fault = headers['x-amzn-query-error'].split(';')
    assert fault == ('Sender' if status < 500 else 'Server')
    return Answer(status, headers, code, said['message'])
