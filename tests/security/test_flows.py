"""Requests that take data away, or bring it, are off unless the operator enables them."""

import pytest

from tests.api import in_process
from tests.isolation import here
from tests.security.doors import REST, Api, asked, ids
from tests.security.place import Place

AWAY = [door for door in REST if door.name in ('stacks.abandon', 'stacks.export')]
BROUGHT = [door for door in REST if door.name in ('stacks.create', 'stacks.preview')]


@pytest.fixture
def careful(tmp_path):
    """The APIs with the options that are the default."""
    made = Place(tmp_path)
    made.apps[Api.REST] = in_process.build(in_process.options(), made.database, made.engine)
    yield made
    made.close()


@pytest.mark.parametrize('door', [*AWAY, *BROUGHT], ids=ids)
def test_stacks_are_neither_taken_away_nor_brought_by_default(careful, door):
    body = None
    if door in BROUGHT:
        body = {'stack_name': 'new', 'adopt_stack_data': '{"template": {"heat_template_version": "2018-08-31"}}'}
    answer = careful.request(door, asked(door, here.VICTIMS, body))
    assert answer.status_code in (400, 403, 404), answer.text
    assert not careful.engine.sent
