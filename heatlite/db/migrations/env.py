"""Run by alembic, on the connection that `heatlite.db.sync` hands over."""

from alembic import context

from heatlite.db.migrations import repeatable
from heatlite.db.tables import metadata

CONNECTION = context.config.attributes['connection']

context.configure(connection=CONNECTION, target_metadata=metadata, render_as_batch=CONNECTION.dialect.name == 'sqlite')
with context.begin_transaction(), repeatable.steps(context.get_context().impl, CONNECTION):
    context.run_migrations()
