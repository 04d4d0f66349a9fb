from heatlite.db import settled_stacks, stacks
from heatlite.db.tables import stack as table
from tests.db.rows import delete_soft, later, leased, nested, stack


def test_settled_stacks_of_a_tree(db, counted):
    """Settled under its present generation, with as many nested stacks as then, and so are all stacks below it."""
    root = stack('root')
    left, right = nested('left', root, 'a', generation=2), nested('right', root, 'b')
    deep = nested('deep', left, 'c')
    settled = {'left': settled_stacks.settling(2, 1, 'd1'), 'right': settled_stacks.settling(1, 0, 'd2'),
               'deep': settled_stacks.settling(1, 0, 'd3')}
    with db.writer() as tx:
        for row in (root, left, right, deep):
            leased(tx, row)
        for stack_id, value in settled.items():
            tx.execute(table.update().where(table.c.id == stack_id).values(settled=value))
        with counted(tx) as statements:
            assert settled_stacks.settled_below(tx, 'root', 'root') == {'left': 'd1', 'right': 'd2', 'deep': 'd3'}
        assert len(statements) == 1
        assert settled_stacks.settled_below(tx, 'root', 'left') == {'deep': 'd3'}
        stacks.accept(tx, 'deep', action='CHECK', reason='', now=later(1))
        assert settled_stacks.settled_below(tx, 'root', 'root') == {'right': 'd2'}
        delete_soft(tx, 'deep', later(2))
        assert settled_stacks.settled_below(tx, 'root', 'root') == {'right': 'd2'}         # one nested stack is missing
        settled_stacks.unsettle(tx, 'right')
        assert settled_stacks.settled_below(tx, 'root', 'root') == {}
