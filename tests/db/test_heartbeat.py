"""What the renewal of an engine's leases tells the mover of a project: that the engine has noted its doubt."""

from __future__ import annotations

import threading

import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.db import engines
from heatlite.db.leases import Lease
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.durability.lease_manager import LeaseManager
from heatlite.engine.durability.stack_slots import StackSlots

WAIT = 1.0              # seconds for another connection to store a doubt, if nothing holds it up


def test_a_doubt_that_comes_while_the_row_is_read_is_noted_by_the_renewal_that_confirms_it(db, clock, monkeypatch):
    """The mover goes on once the engine has renewed its leases: by then the engine must read them again."""
    if db.dialect == 'sqlite':
        pytest.skip('SQLite has one writer: nothing comes in between')
    manager = LeaseManager(
        GreenRuntime(), db, 'here', lambda: {
            'host': 'h', 'hostname': 'h', 'binary': 'b', 'topic': 't', 'report_interval': 60},
        ttl=30.0, sweep_interval=1.0, slots=lambda: StackSlots(0), acquire=lambda lease: None,
        is_driven=lambda name: True, begin_sweep=lambda: None)
    manager._register(db)
    manager._renew(db)
    gone = Lease('gone', 'here', 1)
    manager.may_act(gone)
    read, deadlines = engines.standing, []
    mover = threading.Thread(target=lambda: deadlines.append(db.retry(engines.doubt)))

    def standing(*arguments):
        found = read(*arguments)
        mover.start()
        mover.join(WAIT)
        monkeypatch.setattr(engines, 'standing', read)
        return found

    monkeypatch.setattr(engines, 'standing', standing)
    confirmed = False
    while not confirmed:
        clock.seconds += 1.0
        manager._renew(db)
        mover.join()
        with db.reader() as tx:
            confirmed = engines.unsure(tx, deadlines[0]) == 0
    with pytest.raises(LeaseLost):
        manager.may_act(gone)
