"""Stores plans. Engines of the previous release do not read these tables, and apply no plan."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0007'
down_revision = '0006'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


def upgrade() -> None:
    op.create_table('plan',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=True),
        sa.Column('stack_name', sa.String(length=255), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('state', sa.String(length=32), nullable=False),
        sa.Column('generation', sa.Integer(), nullable=True),
        sa.Column('digest', sa.String(length=64), nullable=False),
        sa.Column('author_id', sa.String(length=64), nullable=True),
        sa.Column('author', sa.String(length=255), nullable=True),
        sa.Column('approver_id', sa.String(length=64), nullable=True),
        sa.Column('approver', sa.String(length=255), nullable=True),
        sa.Column('summary', TEXT, nullable=False),
        sa.Column('document', TEXT, nullable=False),
        sa.Column('request', TEXT, nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('expires_at', TIME, nullable=False),
        sa.Column('approved_at', TIME, nullable=True),
        sa.Column('applied_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_plan_project_id_created_at_id', 'plan', ['project_id', 'created_at', 'id'])
    op.create_index('ix_plan_stack_id', 'plan', ['stack_id'])
    op.create_index('ix_plan_expires_at', 'plan', ['expires_at'])
    op.create_table('plan_permission',
        sa.Column('plan_id', sa.String(length=36), nullable=False),
        sa.Column('place', sa.String(length=64), nullable=False),
        sa.Column('permissions', TEXT, nullable=False),
        sa.PrimaryKeyConstraint('plan_id', 'place'),
        **MYSQL)
