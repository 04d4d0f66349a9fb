"""Stores from which Heat trees were taken over, and when that Heat was replaced.

Engines of the previous release read neither table. Trees that were taken over before have no row: no later run removes
them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0019'
down_revision = '0018'

TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('taken_over',
        sa.Column('root_id', sa.String(length=36), nullable=False),
        sa.Column('source', sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint('root_id'),
        **MYSQL)
    op.create_table('take_over_switch',
        sa.Column('source', sa.String(length=32), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('switched_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('source', 'project_id'),
        **MYSQL)
