"""Gives the number of a signal to one signal only on SQLite, as the servers do.

An engine that lost the connection repeats "signal 7 is handled", since it does not know whether its first try was
written. Were 7 given to the next signal meanwhile, that one would be removed unhandled.
"""

from alembic import op

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    if op.get_bind().dialect.name == 'sqlite':
        with op.batch_alter_table('signal', recreate='always', table_kwargs={'sqlite_autoincrement': True}):
            pass
