"""Lists of services are read page after page, within bounds."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.observe import project


class Swift:
    def __init__(self, count):
        self.names = [{'name': f'c{number:05}'} for number in range(count)]

    def client(self, _name):
        return self

    def get_account(self, limit, marker):
        return {}, [each for each in self.names if each['name'] > marker][:limit]


@pytest.mark.parametrize('count', [0, 1, project.PAGE, project.PAGE + 1, 3 * project.PAGE])
def test_all_containers_are_read(count):
    swift = Swift(count)
    assert project.containers(swift) == swift.names


def test_too_many_are_refused():
    with pytest.raises(exception.RequestLimitExceeded, match='more than 10000 objects'):
        project.containers(Swift(project.MOST_OBJECTS + 1))
