"""Stores protections and locks of stacks. Engines of the previous release do not read them, and hold to none."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0009'
down_revision = '0008'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('guard',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('protections', TEXT, nullable=True),
        sa.Column('lock', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('stack_id'),
        **MYSQL)
