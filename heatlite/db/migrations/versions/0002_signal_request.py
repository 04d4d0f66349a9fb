"""Stores the ids of a signal's request with it: its log lines carry them whichever engine handles it."""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'


def upgrade() -> None:
    op.add_column('signal', sa.Column('request', sa.String(length=255), nullable=True))
