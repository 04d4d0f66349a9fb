"""Stores of nested stacks what they were last brought to, so that an update need not visit those without a change.

Engines of the previous release leave the column as it is; it names the generation that it is about.
"""

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'


def upgrade() -> None:
    op.add_column('stack', sa.Column('settled', sa.String(100), nullable=True))
