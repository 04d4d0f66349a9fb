"""Lets every transaction under a lease write to it; stores errors of signals for the callers that wait for them."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0003'
down_revision = '0002'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.add_column('lease', sa.Column('writes', sa.BigInteger(), server_default='0', nullable=False))
    op.create_table('signal_error',
        sa.Column('mark', sa.String(length=64), nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('error', TEXT, nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('mark'),
        **MYSQL)
    op.create_index('ix_signal_error_created_at', 'signal_error', ['created_at'])
    op.create_index('ix_signal_error_stack_id', 'signal_error', ['stack_id'])
