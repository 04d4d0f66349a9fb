"""Stores when the backup was taken that a stack was restored from.

Engines of the previous release leave the column as it is.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '0016'
down_revision = '0015'


def upgrade() -> None:
    op.add_column('stack', sa.Column(
        'restored_from', sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb'), nullable=True))
