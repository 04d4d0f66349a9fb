"""Metrics and alarms. Engines of the previous release do not read these tables."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0006'
down_revision = '0005'

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def upgrade() -> None:
    op.create_table('metric',
        sa.Column('id', BIG_ID, autoincrement=True, nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('namespace', sa.String(length=255), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('dimensions', TEXT, nullable=False),
        sa.Column('digest', sa.String(length=64), nullable=False),
        sa.Column('length', sa.SmallInteger(), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('seen_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'digest', name='uq_metric_project_id_digest'),
        **MYSQL)
    op.create_index('ix_metric_project_id_namespace_name', 'metric', ['project_id', 'namespace', 'name'])
    op.create_index('ix_metric_seen_at', 'metric', ['seen_at'])

    op.create_table('metric_period',
        sa.Column('metric_id', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('length', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('start', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('unit', sa.String(length=32), nullable=False),
        sa.Column('samples', sa.Double(), nullable=False),
        sa.Column('total', sa.Double(), nullable=False),
        sa.Column('smallest', sa.Double(), nullable=False),
        sa.Column('largest', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('metric_id', 'length', 'start', 'unit'),
        **MYSQL)
    op.create_index('ix_metric_period_length_start', 'metric_period', ['length', 'start'])

    op.create_table('alarm',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('shard', sa.SmallInteger(), nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=True),
        sa.Column('resource_name', sa.String(length=255), nullable=True),
        sa.Column('digest', sa.String(length=64), nullable=False),
        sa.Column('period', sa.Integer(), nullable=False),
        sa.Column('rule', TEXT, nullable=False),
        sa.Column('actions_enabled', sa.Boolean(), nullable=False),
        sa.Column('state', sa.String(length=32), nullable=False),
        sa.Column('reason', TEXT, nullable=False),
        sa.Column('reason_data', TEXT, nullable=True),
        sa.Column('state_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=False),
        sa.Column('version', sa.Integer(), nullable=False),
        sa.Column('evaluated', sa.BigInteger(), nullable=False),
        sa.Column('due_at', sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'name', name='uq_alarm_project_id_name'),
        **MYSQL)
    op.create_index('ix_alarm_shard_due_at', 'alarm', ['shard', 'due_at'])
    op.create_index('ix_alarm_project_id_digest', 'alarm', ['project_id', 'digest'])
    op.create_index('ix_alarm_stack_id', 'alarm', ['stack_id'])

    op.create_table('alarm_history',
        sa.Column('id', BIG_ID, autoincrement=True, nullable=False),
        sa.Column('alarm_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('kind', sa.String(length=32), nullable=False),
        sa.Column('summary', TEXT, nullable=False),
        sa.Column('data', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_alarm_history_project_id_name_id', 'alarm_history', ['project_id', 'name', 'id'])
    op.create_index('ix_alarm_history_project_id_id', 'alarm_history', ['project_id', 'id'])
    op.create_index('ix_alarm_history_created_at', 'alarm_history', ['created_at'])

    op.create_table('alarm_webhook',
        sa.Column('id', BIG_ID, autoincrement=True, nullable=False),
        sa.Column('alarm_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('shard', sa.SmallInteger(), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('url', TEXT, nullable=False),
        sa.Column('body', TEXT, nullable=False),
        sa.Column('attempts', sa.Integer(), nullable=False),
        sa.Column('due_at', sa.Double(), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
        **MYSQL)
    op.create_index('ix_alarm_webhook_shard_due_at', 'alarm_webhook', ['shard', 'due_at'])
