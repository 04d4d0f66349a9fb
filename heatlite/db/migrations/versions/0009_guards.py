"""Stores protections and locks of stacks. Engines of the previous release do not read them, and hold to none."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0009'
down_revision = '0008'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
MYSQL: dict[str, Any] = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4', 'mysql_collate': 'utf8mb4_bin'}


def upgrade() -> None:
    op.create_table('guard',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('protections', TEXT, nullable=True),
        sa.Column('lock', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('stack_id'),
        **MYSQL)
