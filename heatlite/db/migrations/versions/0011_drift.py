"""Stores what looks at the objects of stacks have found. Engines of the previous release neither read nor write it."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0011'
down_revision = '0010'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('drift',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('due_at', TIME, nullable=True),
        sa.Column('mended_at', TIME, nullable=True),
        sa.Column('report', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('stack_id'),
        **MYSQL)
