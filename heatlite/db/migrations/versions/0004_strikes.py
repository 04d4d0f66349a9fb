"""Counts engines that end while they execute a stack. Engines of the previous release work with these columns."""

import sqlalchemy as sa
from alembic import op

revision = '0004'
down_revision = '0003'


def upgrade() -> None:
    op.add_column('lease', sa.Column('strikes', sa.Integer(), server_default='0', nullable=False))
    op.add_column('lease', sa.Column('deaths', sa.Integer(), server_default='0', nullable=False))
    op.add_column('lease', sa.Column('struck_at', sa.String(length=64), nullable=True))
