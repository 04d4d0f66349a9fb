"""The stacks that are stack sets."""

from heatlite.db import leases, resources, stack_sets, stacks
from tests.db.rows import later, stack, state

SETS = {1: 'set', 2: 'another', 4: 'set', 5: 'set', 6: 'set'}      # stack -> name of the resource of the type


def test_page_and_show(db):
    with db.writer() as tx:
        for number in range(1, 7):
            leases.insert(tx, f's{number}', None, wanted=False)
            stacks.insert(tx, stack(f's{number}', created_at=later(number), project_id='p2' if number == 6 else 'p1'))
            kind, name = (stack_sets.TYPE, SETS[number]) if number in SETS else ('OS::Heat::Value', 'set')
            resources.insert_many(tx, f's{number}', [state(1, name, type=kind)])

    def names(*arguments):
        with db.reader() as tx:
            return [each.id for each in stack_sets.page(tx, *arguments)]

    assert names('p1', None, None) == ['s5', 's4', 's1']
    assert names(None, 2, None) == ['s6', 's5']
    assert names('p1', 1, 's5') == ['s4']
    assert names('p1', None, 's6') == ['s5', 's4', 's1']        # the marker belongs to another project
    with db.reader() as tx:
        assert [number for number in range(1, 7) if stack_sets.show(tx, f's{number}') is not None] == [1, 4, 5, 6]
