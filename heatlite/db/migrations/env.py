"""Run by alembic, on the connection that `heatlite.db.sync` hands over."""

from alembic import context

from heatlite.db.tables import metadata

context.configure(connection=context.config.attributes['connection'], target_metadata=metadata,
                  render_as_batch=context.config.attributes['connection'].dialect.name == 'sqlite')
with context.begin_transaction():
    context.run_migrations()
