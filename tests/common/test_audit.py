"""Events in the file of the audit trail, on disks that fill up."""

import json
import os
import resource
from contextlib import contextmanager

import pytest

from heatlite.common import audit, outages
from heatlite.common.audit import AuditedChange, Initiator, Trail

CHANGE = AuditedChange('POST /stacks', 'create', audit.SUCCESS, Initiator(),
                       'service/orchestration/stacks')
HALF = 300                                      # bytes of an event, which has more


@pytest.fixture
def file(tmp_path):
    outages.forget()
    yield tmp_path / 'audit.log'
    outages.forget()


@contextmanager
def room(size):
    """Files of this process may grow to so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def record(file):
    Trail('observer', str(file), None).record(audit.OF_API, CHANGE)


def test_an_event_that_is_cut_is_an_outage_and_does_not_cut_the_next_one(file):
    record(file)
    with room(file.stat().st_size + HALF):
        record(file)
        assert audit.FILE in outages.current
        record(file)                            # nothing of it can be written
    for _process in range(2):                   # none of them has written the part
        record(file)
    assert audit.FILE not in outages.current
    first, part, *others = file.read_text().splitlines()
    assert len(part) == HALF and [json.loads(line)['action'] for line in (first, *others)] == ['create'] * 3


def test_a_pipe_is_no_file_to_look_into(file):
    os.mkfifo(file)
    reading = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        record(file)
        assert json.loads(os.read(reading, 65536))['action'] == 'create' and not outages.current
    finally:
        os.close(reading)
