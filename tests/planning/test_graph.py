from hypothesis import given
from hypothesis import strategies as st

from heatlite.planning import graph
from heatlite.planning.walk import Walk


@st.composite
def acyclic(draw):
    count = draw(st.integers(1, 30))
    return {n: set(draw(st.lists(st.integers(0, n - 1), max_size=4))) if n else set() for n in range(count)}


@st.composite
def any_graph(draw):
    count = draw(st.integers(1, 12))
    return {n: set(draw(st.lists(st.integers(0, count - 1), max_size=3))) for n in range(count)}


@given(acyclic())
def test_order_puts_needed_ones_first(requires):
    seen = set()
    for node in graph.order(requires):
        assert requires[node] <= seen
        seen.add(node)
    assert seen == set(requires)
    assert graph.cycle(requires) == []


@given(any_graph())
def test_a_cycle_is_a_cycle_and_is_found_exactly_when_there_is_one(requires):
    found = graph.cycle(requires)
    for node, needed in zip(found, found[1:] + found[:1], strict=True):
        assert needed in requires[node]
    assert bool(found) == (len(list(graph.order(requires))) < len(requires))


@given(acyclic(), st.randoms(use_true_random=False))
def test_no_step_starts_before_its_requirements(requires, random):
    walk, finished = Walk(requires), set()
    ready = walk.ready()
    while ready:
        step = ready.pop(random.randrange(len(ready)))
        assert requires[step] <= finished
        finished.add(step)
        ready += walk.finish(step)
    assert finished == set(requires)
    assert walk.is_finished


def test_a_long_chain_needs_no_deep_call_stack():
    requires = {n: {n - 1} if n else set() for n in range(50_000)}
    assert len(list(graph.order(requires))) == 50_000
