"""The first schema."""


import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from heatlite.db.migrations.mysql_tables import MYSQL

revision = '0001'
down_revision = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def upgrade() -> None:
    op.create_table('credentials',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=True),
        sa.Column('project_name', sa.String(length=255), nullable=True),
        sa.Column('user_id', sa.String(length=64), nullable=True),
        sa.Column('username', sa.String(length=255), nullable=True),
        sa.Column('auth_url', sa.Text(), nullable=True),
        sa.Column('region_name', sa.String(length=255), nullable=True),
        sa.Column('trust_id', TEXT, nullable=True),
        sa.Column('trustor_user_id', sa.String(length=64), nullable=True),
        sa.Column('password', TEXT, nullable=True),
        sa.Column('token', TEXT, nullable=True),
        sa.Column('method', sa.String(length=64), nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)

    op.create_table('engine',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('host', sa.String(length=255), nullable=False),
        sa.Column('hostname', sa.String(length=255), nullable=False),
        sa.Column('binary', sa.String(length=255), nullable=False),
        sa.Column('topic', sa.String(length=255), nullable=False),
        sa.Column('report_interval', sa.Integer(), nullable=False),
        sa.Column('expires_at', sa.Double(), nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('deleted_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_engine_expires_at', 'engine', ['expires_at'])

    op.create_table('event',
        sa.Column('id', BIG_ID, autoincrement=True, nullable=False),
        sa.Column('uuid', sa.String(length=36), nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('resource_id', sa.Integer(), nullable=True),
        sa.Column('resource_name', sa.String(length=255), nullable=False),
        sa.Column('resource_type', sa.String(length=255), nullable=False),
        sa.Column('physical_id', sa.String(length=255), nullable=True),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('status', sa.String(length=32), nullable=False),
        sa.Column('reason', TEXT, nullable=False),
        sa.Column('properties', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_event_stack_id_id', 'event', ['stack_id', 'id'])

    op.create_table('files',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('content', TEXT, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)

    op.create_table('lease',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('engine_id', sa.String(length=36), nullable=True),
        sa.Column('epoch', sa.Integer(), nullable=False),
        sa.Column('wanted', sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint('stack_id'),
        **MYSQL)
    op.create_index('ix_lease_engine_id', 'lease', ['engine_id'])
    op.create_index('ix_lease_wanted_engine_id', 'lease', ['wanted', 'engine_id'])

    op.create_table('resource',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('id', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('uuid', sa.String(length=36), nullable=False),
        sa.Column('type', sa.String(length=255), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('status', sa.String(length=32), nullable=False),
        sa.Column('reason', TEXT, nullable=False),
        sa.Column('physical_id', sa.String(length=255), nullable=True),
        sa.Column('requires', TEXT, nullable=False),
        sa.Column('replaces', sa.Integer(), nullable=True),
        sa.Column('replaced_by', sa.Integer(), nullable=True),
        sa.Column('template_id', sa.String(length=36), nullable=True),
        sa.Column('fingerprint', sa.String(length=64), nullable=False),
        sa.Column('handle', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('properties', TEXT, nullable=True),
        sa.Column('definition', TEXT, nullable=True),
        sa.Column('metadata', TEXT, nullable=True),
        sa.Column('metadata_version', sa.Integer(), server_default='0', nullable=False),
        sa.Column('attributes', TEXT, nullable=True),
        sa.PrimaryKeyConstraint('stack_id', 'id'),
        **MYSQL)
    op.create_index('ix_resource_physical_id', 'resource', ['physical_id'])
    op.create_index('ix_resource_stack_id_name_id', 'resource', ['stack_id', 'name', 'id'])

    op.create_table('resource_data',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('resource_id', sa.Integer(), autoincrement=False, nullable=False),
        sa.Column('key', sa.String(length=255), nullable=False),
        sa.Column('value', TEXT, nullable=True),
        sa.Column('method', sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint('stack_id', 'resource_id', 'key'),
        **MYSQL)

    op.create_table('signal',
        sa.Column('id', BIG_ID, autoincrement=True, nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('resource_name', sa.String(length=255), nullable=False),
        sa.Column('details', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_signal_stack_id_id', 'signal', ['stack_id', 'id'])

    op.create_table('snapshot',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('status', sa.String(length=32), nullable=False),
        sa.Column('reason', TEXT, nullable=True),
        sa.Column('data', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_snapshot_stack_id', 'snapshot', ['stack_id'])

    op.create_table('software_config',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=True),
        sa.Column('group', sa.String(length=255), nullable=True),
        sa.Column('config', TEXT, nullable=False),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_software_config_project_id_created_at_id', 'software_config',
                    ['project_id', 'created_at', 'id'])

    op.create_table('software_deployment',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('stack_user_project_id', sa.String(length=64), nullable=True),
        sa.Column('server_id', sa.String(length=36), nullable=False),
        sa.Column('config_id', sa.String(length=36), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=True),
        sa.Column('status', sa.String(length=32), nullable=True),
        sa.Column('status_reason', TEXT, nullable=True),
        sa.Column('input_values', TEXT, nullable=True),
        sa.Column('output_values', TEXT, nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_software_deployment_config_id', 'software_deployment', ['config_id'])
    op.create_index('ix_software_deployment_project_id_created_at_id', 'software_deployment',
                    ['project_id', 'created_at', 'id'])
    op.create_index('ix_software_deployment_server_id', 'software_deployment', ['server_id'])

    op.create_table('stack',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('name', sa.String(length=255), nullable=False),
        sa.Column('project_id', sa.String(length=64), nullable=False),
        sa.Column('username', sa.String(length=255), nullable=True),
        sa.Column('owner_id', sa.String(length=36), nullable=True),
        sa.Column('root_id', sa.String(length=36), nullable=False),
        sa.Column('parent_resource', sa.String(length=255), nullable=True),
        sa.Column('depth', sa.SmallInteger(), nullable=False),
        sa.Column('action', sa.String(length=32), nullable=False),
        sa.Column('status', sa.String(length=32), nullable=False),
        sa.Column('reason', TEXT, nullable=False),
        sa.Column('description', TEXT, nullable=False),
        sa.Column('template_id', sa.String(length=36), nullable=False),
        sa.Column('previous_template_id', sa.String(length=36), nullable=True),
        sa.Column('generation', sa.Integer(), nullable=False),
        sa.Column('next_resource', sa.Integer(), nullable=False),
        sa.Column('timeout_mins', sa.Integer(), nullable=True),
        sa.Column('disable_rollback', sa.Boolean(), nullable=False),
        sa.Column('converge', sa.Boolean(), nullable=False),
        sa.Column('credentials_id', sa.String(length=36), nullable=True),
        sa.Column('user_project_id', sa.String(length=64), nullable=True),
        sa.Column('tags', TEXT, nullable=True),
        sa.Column('parameters', TEXT, nullable=True),
        sa.Column('outputs', TEXT, nullable=True),
        sa.Column('request', TEXT, nullable=True),
        sa.Column('live', sa.SmallInteger(), nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.Column('updated_at', TIME, nullable=True),
        sa.Column('started_at', TIME, nullable=True),
        sa.Column('deleted_at', TIME, nullable=True),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'name', 'live', name='uq_stack_project_id_name_live'),
        **MYSQL)
    op.create_index('ix_stack_created_at_id', 'stack', ['created_at', 'id'])
    op.create_index('ix_stack_deleted_at', 'stack', ['deleted_at'])
    op.create_index('ix_stack_owner_id', 'stack', ['owner_id'])
    op.create_index('ix_stack_project_id_created_at_id', 'stack', ['project_id', 'created_at', 'id'])
    op.create_index('ix_stack_root_id_depth', 'stack', ['root_id', 'depth'])
    op.create_index('ix_stack_roots', 'stack', ['project_id', 'live', 'owner_id', 'created_at', 'id'])
    op.create_index('ix_stack_user_project_id', 'stack', ['user_project_id'])

    op.create_table('stack_tag',
        sa.Column('stack_id', sa.String(length=36), nullable=False),
        sa.Column('tag', sa.String(length=80), nullable=False),
        sa.PrimaryKeyConstraint('stack_id', 'tag'),
        **MYSQL)
    op.create_index('ix_stack_tag_tag', 'stack_tag', ['tag'])

    op.create_table('template',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('document', TEXT, nullable=False),
        sa.Column('environment', TEXT, nullable=False),
        sa.Column('files_id', sa.String(length=36), nullable=True),
        sa.Column('stack_id', sa.String(length=36), nullable=True),
        sa.Column('created_at', TIME, nullable=False),
        sa.PrimaryKeyConstraint('id'),
        **MYSQL)
    op.create_index('ix_template_files_id', 'template', ['files_id'])
    op.create_index('ix_template_stack_id', 'template', ['stack_id'])
