import pytest

from heatlite.common import exception
from heatlite.engine.requests.ignored_errors import IgnoredError


class Gone(exception.NotFound):
    pass


@pytest.mark.parametrize('kind', [exception.NotFound, Gone])
def test_errors_of_a_class_or_of_one_below_are_ignored(kind):
    ignored = IgnoredError('NotFound')
    with ignored:
        raise kind('It is gone.')
    ignored(kind('It is gone.'))


def test_all_others_are_raised():
    ignored = IgnoredError('NotFound')
    with pytest.raises(exception.Conflict), ignored:
        raise exception.Conflict('busy')
    with pytest.raises(exception.Conflict):
        ignored(exception.Conflict('busy'))
    with ignored:
        pass
