"""The tables of a Heat's database that are read, with the columns that are used.

Heat's releases since yoga have them, but for OPTIONAL ones: what counts is what is there, not the
version in `migrate_version` or `alembic_version`. Times are UTC without microseconds; JSON columns hold JSON text;
`resource` has no column for the type, which stands in the template the row was last applied with.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from heatlite.common import exception
from heatlite.common.i18n import _

metadata = sa.MetaData()
Id = sa.String(36)
Name = sa.String(255)
Text = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')


def _table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    return sa.Table(name, metadata, *columns)


raw_template = _table(
    'raw_template',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('template', Text),
    sa.Column('environment', Text),
    sa.Column('files', Text),                           # of older releases: the files themselves
    sa.Column('files_id', sa.Integer))

raw_template_files = _table(
    'raw_template_files',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('files', Text))

stack = _table(
    'stack',
    sa.Column('id', Id, primary_key=True),
    sa.Column('name', Name),
    sa.Column('tenant', sa.String(256)),
    sa.Column('username', sa.String(256)),
    sa.Column('owner_id', Id),
    sa.Column('parent_resource_name', Name),
    sa.Column('nested_depth', sa.Integer),
    sa.Column('action', Name),
    sa.Column('status', Name),
    sa.Column('status_reason', sa.Text),
    sa.Column('raw_template_id', sa.Integer, nullable=False),
    sa.Column('prev_raw_template_id', sa.Integer),
    sa.Column('user_creds_id', sa.Integer),
    sa.Column('stack_user_project_id', sa.String(64)),
    sa.Column('timeout', sa.Integer),                   # minutes
    sa.Column('disable_rollback', sa.Boolean, nullable=False),
    sa.Column('backup', sa.Boolean),                    # helper of an update without convergence
    sa.Column('convergence', sa.Boolean),
    sa.Column('current_traversal', Id),
    sa.Column('created_at', sa.DateTime),
    sa.Column('updated_at', sa.DateTime),
    sa.Column('deleted_at', sa.DateTime))

stack_tag = _table(
    'stack_tag',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('tag', sa.Unicode(80)),
    sa.Column('stack_id', Id, nullable=False))

user_creds = _table(
    'user_creds',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('username', Name),
    sa.Column('password', Name),                        # encrypted
    sa.Column('region_name', Name),
    sa.Column('decrypt_method', sa.String(64)),
    sa.Column('tenant', sa.String(1024)),
    sa.Column('auth_url', sa.Text),
    sa.Column('tenant_id', sa.String(256)),
    sa.Column('trust_id', Name),                        # encrypted
    sa.Column('trustor_user_id', sa.String(64)),
    sa.Column('created_at', sa.DateTime))

resource = _table(
    'resource',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', Id),
    sa.Column('name', Name),
    sa.Column('nova_instance', Name),                   # physical id, of any type
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('action', Name),
    sa.Column('status', Name),
    sa.Column('status_reason', sa.Text),
    sa.Column('rsrc_metadata', Text),
    sa.Column('properties_data', Text),                 # of older releases: the properties themselves
    sa.Column('properties_data_encrypted', sa.Boolean),
    sa.Column('rsrc_prop_data_id', sa.Integer),
    sa.Column('attr_data_id', sa.Integer),
    sa.Column('requires', Text),                        # JSON list of row ids
    sa.Column('replaces', sa.Integer),
    sa.Column('replaced_by', sa.Integer),
    sa.Column('current_template_id', sa.Integer),
    sa.Column('atomic_key', sa.Integer),                # grows with each change of the row
    sa.Column('created_at', sa.DateTime),
    sa.Column('updated_at', sa.DateTime))

resource_data = _table(
    'resource_data',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('resource_id', sa.Integer, nullable=False),
    sa.Column('key', Name),
    sa.Column('value', sa.Text),
    sa.Column('redact', sa.Boolean),
    sa.Column('decrypt_method', sa.String(64)),
    sa.Column('updated_at', sa.DateTime))

# Properties of resources and of events, and cached attributes of resources.
resource_properties_data = _table(
    'resource_properties_data',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('data', Text),
    sa.Column('encrypted', sa.Boolean))

event = _table(
    'event',
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', Id),
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('resource_action', Name),
    sa.Column('resource_status', Name),
    sa.Column('resource_name', Name),
    sa.Column('physical_resource_id', Name),
    sa.Column('resource_status_reason', Name),
    sa.Column('resource_type', Name),
    sa.Column('rsrc_prop_data_id', sa.Integer),
    sa.Column('created_at', sa.DateTime))

snapshot = _table(
    'snapshot',
    sa.Column('id', Id, primary_key=True),
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('name', Name),
    sa.Column('data', Text),
    sa.Column('tenant', sa.String(64), nullable=False),
    sa.Column('action', Name),
    sa.Column('status', Name),
    sa.Column('status_reason', Name),
    sa.Column('created_at', sa.DateTime),
    sa.Column('updated_at', sa.DateTime))

resource_snapshot = _table(
    'resource_snapshot',
    sa.Column('id', Id, primary_key=True),
    sa.Column('snapshot_id', Id, nullable=False),
    sa.Column('resource_name', Name, nullable=False),
    sa.Column('data', Text))

software_config = _table(
    'software_config',
    sa.Column('id', Id, primary_key=True),
    sa.Column('name', Name),
    sa.Column('group', Name),
    sa.Column('config', Text),
    sa.Column('tenant', sa.String(64), nullable=False),
    sa.Column('created_at', sa.DateTime))

software_deployment = _table(
    'software_deployment',
    sa.Column('id', Id, primary_key=True),
    sa.Column('config_id', Id, nullable=False),
    sa.Column('server_id', Id, nullable=False),
    sa.Column('action', Name),
    sa.Column('status', Name),
    sa.Column('status_reason', sa.Text),
    sa.Column('input_values', Text),
    sa.Column('output_values', Text),
    sa.Column('tenant', sa.String(64), nullable=False),
    sa.Column('stack_user_project_id', sa.String(64)),
    sa.Column('created_at', sa.DateTime),
    sa.Column('updated_at', sa.DateTime))

service = _table(
    'service',
    sa.Column('id', Id, primary_key=True),
    sa.Column('host', Name, nullable=False),
    sa.Column('report_interval', sa.Integer, nullable=False),      # seconds
    sa.Column('created_at', sa.DateTime),
    sa.Column('updated_at', sa.DateTime),
    sa.Column('deleted_at', sa.DateTime))


# Tables, and columns as TABLE.COLUMN, that releases before 2026.1 do not have.
OPTIONAL = frozenset({'resource_snapshot', 'snapshot.action'})


def check(tx: sa.Connection) -> frozenset[str]:
    """Return which of OPTIONAL the database does not have. Raise Error, which names the first other table or columns
    that it does not have."""
    there = sa.inspect(tx)
    tables = set(there.get_table_names())
    absent = set()
    for table in metadata.sorted_tables:
        if table.name not in tables:
            _check_absent([table.name], _('the table %s') % table.name)
            absent.add(table.name)
            continue
        known = {each['name'] for each in there.get_columns(table.name)}
        missing = sorted(f'{table.name}.{column.name}' for column in table.columns if column.name not in known)
        _check_absent(missing, ', '.join(missing))
        absent.update(missing)
    return frozenset(absent)


def _check_absent(names: list[str], shown: str) -> None:
    if not OPTIONAL.issuperset(names):
        raise exception.Error(_('This is not the database of a Heat since 2022.1 (yoga): it does not have %s.') % shown)
