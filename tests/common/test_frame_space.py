"""Loops do not pay for the memory of frames, however deep they run."""

import resource

from heatlite.common import frame_space

TURNS = 2000
DEPTHS = range(0, 300, 2)       # a chunk of frames has room for about 150 of them


def faults(depth):
    """Page faults of a loop of calls, made `depth` calls deeper."""
    if depth:
        return faults(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(TURNS):
        down(5)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def down(levels):
    return levels and down(levels - 1)


def test_a_loop_maps_no_memory_at_any_depth():
    assert max(map(faults, DEPTHS)) >= TURNS        # what is avoided is there
    assert max(frame_space.with_room(faults, depth) for depth in DEPTHS) < TURNS / 10


def test_results_arguments_and_errors_pass_through():
    assert frame_space.roomy(divmod)(7, 2) == (3, 1)
    try:
        frame_space.with_room(divmod, 7, 0)
    except ZeroDivisionError as error:
        assert error.__traceback__.tb_next.tb_frame.f_code.co_name == '_call'
    else:
        raise AssertionError('no error')
