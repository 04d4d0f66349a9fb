"""Stores forced deletes. Engines of the previous release do not bring them to an end."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0012'
down_revision = '0011'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('forced_delete',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('due_at', TIME, nullable=False),
        sa.Column('is_over', sa.Boolean(), nullable=False),
        sa.Column('left_behind', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('stack_id'),
        **MYSQL)
    op.create_index('ix_forced_delete_is_over', 'forced_delete', ['is_over'])
