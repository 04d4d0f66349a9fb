"""The comparison of previews with updates finds what is not as previewed, also after a failure that may happen."""

import copy
import random

import pytest

from heatlite.rpc import messages
from tests.simulation import foretold
from tests.simulation.cluster import Cluster

SEED = 104796           # a replacement fails at a value that is known only then


@pytest.fixture(scope='module')
def failed():
    """The preview of an update that fails so, and the trees before and after it."""
    randomness = random.Random(SEED)
    grown = foretold.Grown(randomness)
    with Cluster(SEED, engines=1) as cluster:
        first = grown.update()
        stack_id = cluster.create('s', first['template'], first['environment'], files=first['files'])
        cluster.settle(stack_id)
        wanted = grown.next(first)
        before = foretold.tree_of(cluster, stack_id)
        preview = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, show_nested=True, **wanted))
        cluster.ask(messages.UpdateStack(stack_id=stack_id, **wanted))
        assert cluster.settle(stack_id).status == 'FAILED'
        return preview, before, foretold.tree_of(cluster, stack_id)


def entry(preview, kind, name):
    return next(each for each in preview[kind] if each['resource_name'] == name and each['stack_name'] != 's')


def known(preview):
    for change in entry(preview, 'replaced', 'b')['property_changes'].values():
        change.pop('unknown', None)


def unchanged(preview):
    preview['unchanged'].append(entry(preview, 'replaced', 'b'))
    preview['replaced'].remove(entry(preview, 'replaced', 'b'))


def deleted(preview):
    preview['deleted'].append(entry(preview, 'replaced', 'b'))
    preview['replaced'].remove(entry(preview, 'replaced', 'b'))


def another(preview):
    """A resource whose values are all known is replaced, not updated."""
    found = next(each for each in preview['updated'] if each['resource_name'] == 'c')
    preview['updated'].remove(found)
    preview['replaced'].append(found)


def less(preview):
    """Something was done that was called unchanged."""
    found = entry(preview, 'replaced', 'a')
    preview['replaced'].remove(found)
    preview['unchanged'].append(found)


def test_a_value_that_turns_out_wrong_is_no_lie(failed):
    assert foretold.compare(*failed, has_failed=True) == (6, 0)


@pytest.mark.parametrize('lie', [known, unchanged, deleted, another, less])
def test_a_lie_is_found(failed, lie):
    preview, before, after = copy.deepcopy(failed)
    lie(preview)
    with pytest.raises(AssertionError, match='previewed, not done'):
        foretold.compare(preview, before, after, has_failed=True)


def test_an_update_that_succeeds_does_all_of_it(failed):
    with pytest.raises(AssertionError, match='previewed, not done'):
        foretold.compare(*failed, has_failed=False)
