"""Constraints on lists whose items are asked about: bounded, and within the deadline of the request."""

import pytest

from heatlite.common import allowance, exception
from heatlite.engine.clients import constraint_cache
from heatlite.language.constraints import CustomConstraint
from heatlite.language.custom_constraints import PureConstraint
from heatlite.testing.runtime import Universe

MOST = constraint_cache.MOST_ITEMS


class Service:
    """A constraint that asks; each question takes a second."""

    def __init__(self, runtime=None):
        self.runtime = runtime
        self.asked = 0

    def validate(self, _value, _context):
        self.asked += 1
        if self.runtime is not None:
            self.runtime.sleep(1)
        return True


def check(asked, items):
    CustomConstraint('c').validate(items, lookup=constraint_cache.lookup(lambda name: asked, None))


def test_a_service_is_asked_about_so_many_items():
    service = Service()
    check(service, [{'n': number} for number in range(MOST)])       # of values that are not remembered
    assert service.asked == MOST
    with pytest.raises(ValueError, match=f'c asks a service for each item, of which there may be at most {MOST}'):
        check(service, [{'n': number} for number in range(MOST + 1)])
    assert service.asked == MOST


def test_what_asks_no_service_takes_longer_lists():
    check(PureConstraint(lambda value: None), ['a'] * (MOST + 1))


def test_no_service_is_asked_after_the_deadline():
    universe = Universe(1)
    runtime = universe.process('engine')
    service, ended = Service(runtime), []

    def request():
        try:
            # Held, so that only the questions look at the time.
            with allowance.limited(runtime, 10, reads=False), allowance.held():
                check(service, [{'n': number} for number in range(MOST)])
        except exception.TooLate:
            ended.append(service.asked)
    runtime.spawn(request)
    universe.run(lambda: bool(ended))
    universe.close()
    assert ended == [10]
