"""Stores why a resource is to be replaced, or was, where no property of its definition tells it, and what a long action
waits for.

Engines of the previous release leave the columns as they are.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0014'
down_revision = '0013'


def upgrade() -> None:
    text = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
    for name in ('cause', 'waits'):
        op.add_column('resource', sa.Column(name, text, nullable=True))
