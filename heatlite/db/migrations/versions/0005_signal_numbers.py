"""Never reuses the number of a signal on SQLite, as the servers never do.

An engine that lost the connection repeats "signal 7 is handled", since the outcome of its first attempt is unknown. If
7 had been given to the next signal meanwhile, that one would be removed unhandled.
"""

from alembic import op

revision = '0005'
down_revision = '0004'


def upgrade() -> None:
    if op.get_bind().dialect.name == 'sqlite':
        with op.batch_alter_table('signal', recreate='always', table_kwargs={'sqlite_autoincrement': True}):
            pass
