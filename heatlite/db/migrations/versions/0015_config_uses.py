"""Lets every transaction that deploys a config write to it: nodes of a Galera cluster see no locks of each other.

Engines of the previous release leave the column as it is.
"""

import sqlalchemy as sa
from alembic import op

revision = '0015'
down_revision = '0014'


def upgrade() -> None:
    op.add_column('software_config', sa.Column('uses', sa.BigInteger(), server_default='0', nullable=False))
