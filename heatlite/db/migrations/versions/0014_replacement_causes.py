"""Stores why a resource is to be replaced, or was, where no property of its definition tells it.

Engines of the previous release leave the column as it is.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0014'
down_revision = '0013'


def upgrade() -> None:
    text = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
    op.add_column('resource', sa.Column('cause', text, nullable=True))
