"""What is logged about a stack whose change cannot be stored has no hidden values of the stack."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heatlite.common import logs
from heatlite.common.context import RequestContext
from heatlite.db.leases import Lease
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner import Runner
from heatlite.engine.reconcile.runners import Runners
from heatlite.language.definition import StackDefinition
from heatlite.planning.states import Action
from heatlite.planning.target import Target
from heatlite.planning.traversal import Traversal
from tests.db.rows import stack

NOTHING = cast('Any', None)


def test_what_the_database_refuses_is_logged_without_hidden_values(caplog: pytest.LogCaptureFixture) -> None:
    definition = SimpleNamespace(masked=lambda text: text.replace('s3cret', '******'))
    leased = LeasedStack(stack(), Lease('s1', 'e1', 1), cast('StackDefinition', definition),
                         RequestContext(project_id='p1', overwrite=False), Traversal(
        Target(Action.CREATE, {}, 'template', NOTHING), [], next_row=9, random=NOTHING, retry_limit=5))
    stopped: list[Exception | None] = []
    runners = Runners()
    runners.add(cast('Runner', SimpleNamespace(leased=leased, stop=stopped.append)))
    formatted: list[str] = []

    class Formatting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            formatted.append(logs.message(record) + logs.traceback_of(cast('Any', record.exc_info)))

    handler = Formatting()
    logging.getLogger('heatlite').addHandler(handler)
    try:
        error = ValueError("Data too long for column 'physical_id' [parameters: ('s3cret',)]")
        runners.stop_failed('s1', error)
    finally:
        logging.getLogger('heatlite').removeHandler(handler)
    assert stopped == [error]
    line, = formatted
    assert 'A change of stack s1 cannot be stored' in line and 'Data too long' in line
    assert 's3cret' not in line
