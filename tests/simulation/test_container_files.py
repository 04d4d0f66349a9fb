"""Files of a request that are objects of a container in the object storage."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import plans, templates
from heatlite.engine import clients
from heatlite.engine.clients.os import swift
from heatlite.engine.requests import container_files
from heatlite.rpc import messages
from tests.simulation.cluster import done, outputs
from tests.simulation.openstack import stack

ROOM = 4000                         # bytes of all files of a request
NESTED = json.dumps({'heat_template_version': '2021-04-16', 'resources': {'inner': {'type': 'OS::Heat::None'}}})
ENVIRONMENT = json.dumps({'parameters': {'size': 'large'}})
TEMPLATE = {
    'heat_template_version': '2021-04-16', 'parameters': {'size': {'type': 'string', 'default': 'small'}},
    'resources': {'it': {'type': 'lib/nested.yaml'},
                  'value': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_file': 'motd'}}}},
    'outputs': {'motd': {'value': {'get_attr': ['value', 'value']}}, 'size': {'value': {'get_param': 'size'}}}}
OBJECTS = {'lib/nested.yaml': NESTED, 'motd': 'of the container', 'size.env': ENVIRONMENT}
SOURCE = {'template': TEMPLATE, 'files_container': 'c', 'environment_files': ('size.env',)}


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1, max_json_body_size=ROOM) as found:
        put(found, OBJECTS)
        yield found


def put(it, objects):
    with it._calls.unwatched():
        client = clients.of(it.cluster.context).client('swift')
        client.put_container('c')
        for name, content in objects.items():
            client.put_object('c', name, content)


def read(it):
    """The requests for objects and for the list of the container so far."""
    with it._calls.unwatched():
        return [each for each in it.requests() if each.startswith('GET object-store')]


def files(it, row):
    with it.cluster.database.reader() as tx:
        return dict(templates.get(tx, row.template_id).files)


def refused(it, error, **changed):
    """The error of a request with the container, after which nothing of the stack is there."""
    found = it.cluster.ask(messages.CreateStack(stack_name='refused', **{**SOURCE, **changed}), allowed=[error])
    assert type(found) is error
    assert it.cluster.user_stack('refused') is None
    return str(found)


def test_a_stack_has_the_files_of_its_container(it):
    stack_id = it.cluster.create('s', **SOURCE)
    row = done(it.cluster, stack_id, 'CREATE')
    assert outputs(row) == {'motd': 'of the container', 'size': 'large'}
    assert files(it, row) == OBJECTS


def test_the_files_of_the_request_come_first(it):
    before = len(read(it))
    row = done(it.cluster, it.cluster.create('s', **SOURCE, files={'motd': 'of the request', 'own': 'o'}), 'CREATE')
    assert outputs(row)['motd'] == 'of the request'
    assert files(it, row) == {**OBJECTS, 'motd': 'of the request', 'own': 'o'}
    assert len(read(it)) - before == 3                  # the list, and two objects


def test_an_update_reads_the_container_anew(it):
    stack_id = it.cluster.create('s', **SOURCE)
    done(it.cluster, stack_id, 'CREATE')
    put(it, {'motd': 'changed'})
    it.cluster.update(stack_id, None, existing=True, files_container='c')
    row = done(it.cluster, stack_id, 'UPDATE')
    assert outputs(row) == {'motd': 'changed', 'size': 'large'}
    it.cluster.update(stack_id, None, existing=True)    # the stack does not remember where its files were
    assert outputs(done(it.cluster, stack_id, 'UPDATE'))['motd'] == 'changed'


@pytest.mark.parametrize('message', [
    messages.ValidateTemplate, messages.PreviewStack, messages.CheckCreate, messages.CheckUpdate,
    messages.PreviewUpdateStack])
def test_questions_read_the_container(it, message):
    whose = {'stack_name': 'other'} if issubclass(message, messages.CreateStack) else {}
    if issubclass(message, messages.UpdateStack):
        whose = {'stack_id': it.cluster.create('s', **SOURCE)}
        done(it.cluster, whose['stack_id'], 'CREATE')
    it.cluster.ask(message(**SOURCE, **whose))
    with pytest.raises(exception.HeatException):
        it.cluster.ask(replace(message(**SOURCE, **whose), files_container=None))


def test_a_plan_is_applied_with_what_it_has_read(it):
    plan = it.planned(action='create', stack_name='s', **SOURCE)
    put(it, {'motd': 'changed'})
    before = len(read(it))
    row = done(it.cluster, it.apply(plan)['stack_id'], 'CREATE')
    assert outputs(row)['motd'] == 'of the container'
    assert len(read(it)) == before
    with it.cluster.database.reader() as tx:
        assert plans.show(tx, plan.id, str(it.cluster.context.project_id)).request['files'] == OBJECTS


def test_what_is_not_text_comes_in_base64(it):
    content = bytes(range(256))
    put(it, {'motd': content})
    row = done(it.cluster, it.cluster.create('s', **SOURCE), 'CREATE')
    assert base64.b64decode(files(it, row)['motd']) == content


def test_a_long_list_is_read_in_pages(it, monkeypatch):
    monkeypatch.setattr(swift, 'NAMES_AT_ONCE', 2)
    put(it, {f'more/{number} and a blank': str(number) for number in range(4)})
    row = done(it.cluster, it.cluster.create('s', **SOURCE), 'CREATE')
    assert len(files(it, row)) == 7


# --- what is refused ---------------------------------------------------------------------------------------

def test_a_container_that_is_not_there(it):
    assert 'container gone cannot be read' in refused(it, exception.NotFound, files_container='gone')


def test_a_cloud_without_object_storage(it):
    it.cluster.context = RequestContext.from_dict({**it.cluster.context.to_dict(), 'region_name': 'nowhere'})
    assert 'the cloud has no object storage' in refused(it, exception.HTTPBadRequest)


def test_a_container_of_others(it):
    it.fault(kind='error', service='swift', method='GET', status=403)
    refused(it, exception.Forbidden)


def test_a_service_that_fails(it):
    it.fault(kind='error', service='swift', method='GET', path=f'*{quote("motd")}', status=503, count=0)
    refused(it, exception.HTTPServiceUnavailable)


def test_too_many_files(it, monkeypatch):
    monkeypatch.setattr(container_files, 'MOST_FILES', 4)
    done(it.cluster, it.cluster.create('s', **SOURCE, files={'motd': 'counts once', 'own': ''}), 'CREATE')
    before = len(read(it))
    assert 'more than 4 files' in refused(it, exception.DownloadLimitExceeded, files={'own': '', 'other': ''})
    assert len(read(it)) - before == 1


def test_too_many_bytes(it):
    put(it, {'large': 'x' * (ROOM - 300)})
    done(it.cluster, it.cluster.create('s', **SOURCE), 'CREATE')
    before = len(read(it))
    assert f'more than {ROOM} bytes' in refused(it, exception.DownloadLimitExceeded, files={'own': 'x' * 300})
    assert len(read(it)) - before == 1                  # the list says so


def test_objects_that_are_longer_as_texts(it):
    """Base64 is longer than what the list says; an object may also have grown since."""
    put(it, {'large': b'\xff' * (ROOM - 300)})
    assert f'more than {ROOM} bytes' in refused(it, exception.DownloadLimitExceeded)


def test_a_request_ends_at_its_deadline_between_two_objects(it):
    runtime, service = it.cluster.engines[0]
    context, answers, before = it.cluster.context, [], len(read(it))
    context.deadline = runtime.now() + timedelta(seconds=6)
    it._calls._around = lambda label: runtime.sleep(4 if label == 'after a request' else 0)

    def ask():
        try:
            service.endpoint.handle(context, messages.CreateStack(stack_name='late', **SOURCE))
        except exception.HeatException as error:
            answers.append(error)
    runtime.spawn(ask)
    assert it.cluster.universe.run(lambda: bool(answers))
    assert isinstance(answers[0], exception.TooLate)
    assert it.cluster.user_stack('late') is None
    assert len(read(it)) - before == 2                  # the list, and one of three objects
