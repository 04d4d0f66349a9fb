"""Stores whether a stack has resources that act by the token of its requests.

Engines of the previous release leave the column as it is.
"""

import sqlalchemy as sa
from alembic import op

revision = '0017'
down_revision = '0016'


def upgrade() -> None:
    op.add_column('stack', sa.Column('acts_by_token', sa.Boolean(), nullable=True))
