"""Stores revisions. Engines of the previous release add none; the definitions they accept have no number."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0008'
down_revision = '0007'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.add_column('stack', sa.Column('revision', sa.Integer(), nullable=True))
    op.add_column('stack', sa.Column('outcome', sa.String(length=32), nullable=True))
    op.create_table('revision',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('number', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('action', sa.String(length=32), nullable=True),
        sa.Column('preceding', sa.String(length=32), nullable=True),
        sa.Column('author_id', sa.String(length=64), nullable=True),
        sa.Column('author', sa.String(length=255), nullable=True),
        sa.Column('plan_id', sa.String(length=36), nullable=True),
        sa.Column('template_id', sa.String(length=36), nullable=False),
        sa.Column('digest', sa.String(length=64), nullable=True),
        sa.Column('parameters', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('stack_id', 'number'),
        **MYSQL)
