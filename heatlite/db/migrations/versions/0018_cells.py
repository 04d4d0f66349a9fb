"""Stores in which cell each project is, and which projects have left a cell.

Engines of the previous release do not see that a project has left: no project may be moved before all are of this one.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0018'
down_revision = '0017'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('project_cell',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('cell', sa.String(length=64), nullable=False),
        sa.Column('moving_to', sa.String(length=64), nullable=True),
        sa.Column('leaving', sa.String(length=64), nullable=True),
        sa.Column('since', TIME, nullable=False),
        sa.Column('numbers', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('project_id'),
        **MYSQL)
    op.create_index('ix_project_cell_cell', 'project_cell', ['cell'])
    op.create_table('project_presence',
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('has_left', sa.Boolean(), nullable=False),
        sa.Column('since', TIME, nullable=False),
        sa.Column('uses', sa.BigInteger(), server_default='0', nullable=False),
        sa.PrimaryKeyConstraint('project_id'),
        **MYSQL)
    op.add_column('engine', sa.Column('doubts', sa.Integer(), server_default='0', nullable=False))
    op.add_column('stack', sa.Column('departed', sa.String(length=32), nullable=True))
