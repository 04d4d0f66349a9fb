"""Never reuses the number of an event on SQLite, as the servers never do.

Streams of events continue after a number. If the events of a purged stack had been the last ones, the next events would
get their numbers again, and a client that resumes would not see them.
"""

from alembic import op

revision = '0013'
down_revision = '0012'


def upgrade() -> None:
    if op.get_bind().dialect.name == 'sqlite':
        with op.batch_alter_table('event', recreate='always', table_kwargs={'sqlite_autoincrement': True}):
            pass
