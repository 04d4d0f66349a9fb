"""The tables and the index each query uses. Columns only; statements are in the file of their noun.

`Json` columns hold JSON text. Times are UTC with microseconds. Rows of one stack are adjacent: their keys begin with
the stack's id, and numbers within it are assigned by its one owner.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData(naming_convention={
    'ix': 'ix_%(table_name)s_%(column_0_N_name)s', 'uq': 'uq_%(table_name)s_%(column_0_N_name)s'})

Id = sa.String(36)
Name = sa.String(255)
LONGEST_WORD = 32               # characters
Word = sa.String(LONGEST_WORD)
Text = sa.Text().with_variant(mysql.LONGTEXT(), 'mysql', 'mariadb')
Json = Text                                         # encoded and decoded by the statements, never by the ORM
Time = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')
BigId = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def _table(name: str, *parts: sa.schema.SchemaItem, sqlite_autoincrement: bool = False) -> sa.Table:
    # Names compare byte by byte on every database: MySQL's default collation makes no difference between 'Web' and
    # 'web'. MariaDB still takes 'web' and 'web ' for equal (PAD SPACE): statements for names that may end with a blank
    # compare what they find again, or use `db.texts`.
    return sa.Table(name, metadata, *parts, mysql_engine='InnoDB', mysql_charset='utf8mb4',
                    mysql_collate='utf8mb4_bin', sqlite_autoincrement=sqlite_autoincrement)


# A document, its environment and its files; never updated.
template = _table(
    'template',
    sa.Column('id', Id, primary_key=True),
    sa.Column('document', Json, nullable=False),    # JSON object as the user gave it
    sa.Column('environment', Json, nullable=False),
    sa.Column('files_id', Id, nullable=True),
    sa.Column('stack_id', Id, nullable=True),       # owner; lets old ones be removed
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_template_stack_id', 'stack_id'),
    sa.Index('ix_template_files_id', 'files_id'))

files = _table(
    'files',
    sa.Column('id', Id, primary_key=True),
    sa.Column('content', Json, nullable=False))     # {name: text}

stack = _table(
    'stack',
    sa.Column('id', Id, primary_key=True),
    sa.Column('name', Name, nullable=False),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('username', sa.String(255), nullable=True),           # stack_owner on the wire
    sa.Column('owner_id', Id, nullable=True),                       # parent stack
    sa.Column('root_id', Id, nullable=False),                       # own id for a root
    sa.Column('parent_resource', Name, nullable=True),              # name of the resource in the parent
    sa.Column('depth', sa.SmallInteger, nullable=False, default=0),
    sa.Column('action', Word, nullable=False),
    sa.Column('status', Word, nullable=False),
    sa.Column('reason', Text, nullable=False),
    sa.Column('description', Text, nullable=False),                 # the template's
    sa.Column('template_id', Id, nullable=False),
    sa.Column('previous_template_id', Id, nullable=True),           # the last good one: target of a rollback
    sa.Column('generation', sa.Integer, nullable=False, default=1), # grows with each accepted request
    sa.Column('revision', sa.Integer, nullable=True),               # of a root: number of the accepted definition
    sa.Column('outcome', Word, nullable=True),                      # of the revision; null: `status` is it
    sa.Column('next_resource', sa.Integer, nullable=False, default=1),
    sa.Column('timeout_mins', sa.Integer, nullable=True),
    sa.Column('disable_rollback', sa.Boolean, nullable=False),
    sa.Column('converge', sa.Boolean, nullable=False, default=False),
    sa.Column('credentials_id', Id, nullable=True),
    sa.Column('user_project_id', sa.String(64), nullable=True),     # stack_user_project_id on the wire
    sa.Column('tags', Json, nullable=True),                         # list, in the order given; null: none
    sa.Column('parameters', Json, nullable=True),                   # as shown: texts, hidden ones masked
    sa.Column('outputs', Json, nullable=True),                      # list, as shown
    sa.Column('request', Json, nullable=True),                      # what the last request said besides the template
    sa.Column('settled', sa.String(100), nullable=True),            # see settled_stacks.settled_below
    sa.Column('live', sa.SmallInteger, nullable=True),              # 1, or null once deleted: frees the name
    sa.Column('created_at', Time, nullable=False),
    sa.Column('updated_at', Time, nullable=True),
    sa.Column('started_at', Time, nullable=True),                   # of the running action: timeouts count from it
    sa.Column('deleted_at', Time, nullable=True),
    sa.Column('restored_from', Time, nullable=True),                # when the backup was taken that the row is from
    sa.Column('acts_by_token', sa.Boolean, nullable=True),          # of a root: see stacks.StoredStack; null: not known
    sa.Column('departed', Word, nullable=True),                     # of a project that is not here: db.presence
    sa.UniqueConstraint('project_id', 'name', 'live', name='uq_stack_project_id_name_live'),
    sa.Index('ix_stack_project_id_created_at_id', 'project_id', 'created_at', 'id'),
    sa.Index('ix_stack_created_at_id', 'created_at', 'id'),                     # of all projects, for admins
    sa.Index('ix_stack_roots', 'project_id', 'live', 'owner_id', 'created_at', 'id'),
    sa.Index('ix_stack_user_project_id', 'user_project_id'),
    sa.Index('ix_stack_owner_id', 'owner_id'),
    sa.Index('ix_stack_root_id_depth', 'root_id', 'depth'),
    sa.Index('ix_stack_deleted_at', 'deleted_at'))

stack_tag = _table(
    'stack_tag',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('tag', sa.String(80), primary_key=True),
    sa.Index('ix_stack_tag_tag', 'tag'))

# Which engine may write. `engine_id` null with `wanted`: the stack has work and no owner.
lease = _table(
    'lease',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('engine_id', Id, nullable=True),
    sa.Column('epoch', sa.Integer, nullable=False),
    sa.Column('wanted', sa.Boolean, nullable=False),
    # Grows with each transaction that relies on the lease. Galera nodes certify transactions by what was written, not
    # by what was locked, and an UPDATE that leaves a row as it was writes nothing.
    sa.Column('writes', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('strikes', sa.Integer, nullable=False, server_default='0'),   # engines that ended executing the stack,
    sa.Column('deaths', sa.Integer, nullable=False, server_default='0'),    # in a row; of one request in all
    sa.Column('struck_at', sa.String(64), nullable=True),                   # the stack's progress at the last one
    sa.Index('ix_lease_wanted_engine_id', 'wanted', 'engine_id'),
    sa.Index('ix_lease_engine_id', 'engine_id'))

# One row per engine worker process; its `expires_at` is the deadline of all its leases at once.
engine = _table(
    'engine',
    sa.Column('id', Id, primary_key=True),
    sa.Column('host', Name, nullable=False),
    sa.Column('hostname', Name, nullable=False),
    sa.Column('binary', Name, nullable=False),
    sa.Column('topic', Name, nullable=False),
    sa.Column('report_interval', sa.Integer, nullable=False),       # seconds
    sa.Column('expires_at', sa.Double, nullable=False),             # seconds since 1970 by the database's clock
    sa.Column('created_at', Time, nullable=False),
    sa.Column('updated_at', Time, nullable=True),
    sa.Column('deleted_at', Time, nullable=True),
    # Grows when leases may have ended that the engine believes to have: it reads them again before its next requests.
    sa.Column('doubts', sa.Integer, nullable=False, server_default='0'),
    sa.Index('ix_engine_expires_at', 'expires_at'))

resource = _table(
    'resource',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('name', Name, nullable=False),
    sa.Column('uuid', Id, nullable=False),
    sa.Column('type', Name, nullable=False),
    sa.Column('action', Word, nullable=False),
    sa.Column('status', Word, nullable=False),
    sa.Column('reason', Text, nullable=False),
    sa.Column('physical_id', Name, nullable=True),
    sa.Column('requires', Json, nullable=False),                    # {name: row number}
    sa.Column('replaces', sa.Integer, nullable=True),
    sa.Column('replaced_by', sa.Integer, nullable=True),
    sa.Column('template_id', Id, nullable=True),
    sa.Column('fingerprint', sa.String(64), nullable=False),
    sa.Column('handle', Json, nullable=True),                       # JSON text; null: not returned yet
    sa.Column('created_at', Time, nullable=False),
    sa.Column('updated_at', Time, nullable=True),
    sa.Column('properties', Json, nullable=True),                   # last applied, functions resolved
    sa.Column('definition', Json, nullable=True),                   # rest of what was applied: metadata, policies...
    sa.Column('metadata', Json, nullable=True),
    sa.Column('metadata_version', sa.Integer, nullable=False, server_default='0'),
    sa.Column('attributes', Json, nullable=True),                   # cached values
    sa.Column('cause', Json, nullable=True),                        # why it is replaced: planning.replacement
    sa.Column('waits', Json, nullable=True),                        # what a long action waits for: planning.waiting
    sa.Index('ix_resource_stack_id_name_id', 'stack_id', 'name', 'id'),     # without `id` SQLite prefers the key
    sa.Index('ix_resource_physical_id', 'physical_id'))

resource_data = _table(
    'resource_data',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('resource_id', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('key', Name, primary_key=True),
    sa.Column('value', Text, nullable=True),
    sa.Column('method', sa.String(64), nullable=True))              # how it is encrypted; null: plain

event = _table(
    'event',
    sa.Column('id', BigId, primary_key=True, autoincrement=True),
    sa.Column('uuid', Id, nullable=False),
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('resource_id', sa.Integer, nullable=True),
    sa.Column('resource_name', Name, nullable=False),
    sa.Column('resource_type', Name, nullable=False),
    sa.Column('physical_id', Name, nullable=True),
    sa.Column('action', Word, nullable=False),
    sa.Column('status', Word, nullable=False),
    sa.Column('reason', Text, nullable=False),
    sa.Column('properties', Json, nullable=True),                   # only where they changed
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_event_stack_id_id', 'stack_id', 'id'),
    sqlite_autoincrement=True)                                      # streams continue after a number

# A signal is stored here until the owner of its stack has handled it.
signal = _table(
    'signal',
    sa.Column('id', BigId, primary_key=True, autoincrement=True),
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('resource_name', Name, nullable=False),
    sa.Column('details', Json, nullable=True),
    sa.Column('created_at', Time, nullable=False),
    sa.Column('request', sa.String(255), nullable=True),            # ids of the request it came with, JSON object
    sa.Index('ix_signal_stack_id_id', 'stack_id', 'id'),
    sqlite_autoincrement=True)                                      # a repeated write must not hit a later signal

# Why a signal was refused, for the process that waits for it. Deleted once read, or after some minutes.
signal_error = _table(
    'signal_error',
    sa.Column('mark', sa.String(64), primary_key=True),             # heatlite.db.signals.Signal.mark
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('error', Json, nullable=False),
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_signal_error_stack_id', 'stack_id'),
    sa.Index('ix_signal_error_created_at', 'created_at'))

snapshot = _table(
    'snapshot',
    sa.Column('id', Id, primary_key=True),
    sa.Column('stack_id', Id, nullable=False),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('name', Name, nullable=True),
    sa.Column('action', Word, nullable=False),
    sa.Column('status', Word, nullable=False),
    sa.Column('reason', Text, nullable=True),
    sa.Column('data', Json, nullable=True),
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_snapshot_stack_id', 'stack_id'))

# The definitions that were accepted for a root stack. Rows are never updated: the outcome of a revision is stored with
# the next one, that of the last with the stack.
revision = _table(
    'revision',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('number', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('action', Word, nullable=True),
    sa.Column('preceding', Word, nullable=True),                    # outcome of the revision before
    sa.Column('author_id', sa.String(64), nullable=True),
    sa.Column('author', sa.String(255), nullable=True),
    sa.Column('plan_id', Id, nullable=True),
    sa.Column('template_id', Id, nullable=False),                   # revisions with equal content share it
    sa.Column('digest', sa.String(64), nullable=True),
    sa.Column('parameters', Json, nullable=True),                   # as shown: texts, hidden ones masked
    sa.Column('created_at', Time, nullable=False))

# What an action would do, to be looked at, approved and applied. Never changed but for its state.
plan = _table(
    'plan',
    sa.Column('id', Id, primary_key=True),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('stack_id', Id, nullable=True),                       # null: of a new stack
    sa.Column('stack_name', Name, nullable=False),
    sa.Column('action', Word, nullable=False),
    sa.Column('state', Word, nullable=False),                       # READY, APPROVED, APPLIED
    sa.Column('generation', sa.Integer, nullable=True),             # of the stack that it starts from
    sa.Column('digest', sa.String(64), nullable=False),
    sa.Column('author_id', sa.String(64), nullable=True),
    sa.Column('author', sa.String(255), nullable=True),
    sa.Column('approver_id', sa.String(64), nullable=True),
    sa.Column('approver', sa.String(255), nullable=True),
    sa.Column('summary', Json, nullable=False),                     # {action: number of resources}
    sa.Column('document', Json, nullable=False),                    # as shown, hidden values masked
    sa.Column('request', Json, nullable=False),                     # the fields of the message that is carried out
    sa.Column('created_at', Time, nullable=False),
    sa.Column('expires_at', Time, nullable=False),
    sa.Column('approved_at', Time, nullable=True),
    sa.Column('applied_at', Time, nullable=True),
    sa.Index('ix_plan_project_id_created_at_id', 'project_id', 'created_at', 'id'),
    sa.Index('ix_plan_stack_id', 'stack_id'),
    sa.Index('ix_plan_expires_at', 'expires_at'))

# What an applied plan allows in one stack of the tree; read by the engine that drives that stack.
plan_permission = _table(
    'plan_permission',
    sa.Column('plan_id', Id, primary_key=True),
    sa.Column('place', sa.String(64), primary_key=True),            # heatlite.planning.plan.place of the stack's path
    sa.Column('permissions', Json, nullable=False))

# What must not be done to the stacks of a tree; `stack_id` is that of the root. Written for trees that have some only.
guard = _table(
    'guard',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('protections', Json, nullable=True),                  # list, heatlite.planning.protection.Protection
    sa.Column('lock', Json, nullable=True))                         # heatlite.db.guards.Lock

# What the last look at the objects of a stack has found. `due_at`: when the next scheduled look may begin.
drift = _table(
    'drift',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('due_at', Time, nullable=True),
    sa.Column('mended_at', Time, nullable=True),                    # the last update that a look has begun
    sa.Column('report', Json, nullable=True))                       # heatlite.planning.drift.DriftReport

# Deletes that end in any case. `due_at`: what is not deleted by then is left in the cloud. `left_behind`: null until
# that is decided.
forced_delete = _table(
    'forced_delete',
    sa.Column('stack_id', Id, primary_key=True),
    sa.Column('due_at', Time, nullable=False),
    sa.Column('is_over', sa.Boolean, nullable=False),
    sa.Column('left_behind', Json, nullable=True),                  # list of heatlite.db.forced_deletes.Left
    sa.Index('ix_forced_delete_is_over', 'is_over'))

software_config = _table(
    'software_config',
    sa.Column('id', Id, primary_key=True),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('name', Name, nullable=True),
    sa.Column('group', Name, nullable=True),
    sa.Column('config', Json, nullable=False),                      # {config, inputs, outputs, options}
    sa.Column('created_at', Time, nullable=False),
    # Grows with each transaction that deploys the config, on Galera: see `writes` of leases.
    sa.Column('uses', sa.BigInteger, nullable=False, server_default='0'),
    sa.Index('ix_software_config_project_id_created_at_id', 'project_id', 'created_at', 'id'))

software_deployment = _table(
    'software_deployment',
    sa.Column('id', Id, primary_key=True),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('stack_user_project_id', sa.String(64), nullable=True),
    sa.Column('server_id', Id, nullable=False),
    sa.Column('config_id', Id, nullable=False),
    sa.Column('action', Word, nullable=True),
    sa.Column('status', Word, nullable=True),
    sa.Column('status_reason', Text, nullable=True),
    sa.Column('input_values', Json, nullable=True),
    sa.Column('output_values', Json, nullable=True),
    sa.Column('created_at', Time, nullable=False),
    sa.Column('updated_at', Time, nullable=True),
    sa.Index('ix_software_deployment_server_id', 'server_id'),
    sa.Index('ix_software_deployment_config_id', 'config_id'),
    sa.Index('ix_software_deployment_project_id_created_at_id', 'project_id', 'created_at', 'id'),
    sa.Index('ix_software_deployment_user_project', 'stack_user_project_id', 'created_at', 'id'))

# The authority under which a stack acts after the request has ended. Secrets are encrypted.
credentials = _table(
    'credentials',
    sa.Column('id', Id, primary_key=True),
    sa.Column('project_id', sa.String(64), nullable=True),
    sa.Column('project_name', Name, nullable=True),
    sa.Column('user_id', sa.String(64), nullable=True),
    sa.Column('username', Name, nullable=True),
    sa.Column('auth_url', sa.Text, nullable=True),
    sa.Column('region_name', Name, nullable=True),
    sa.Column('trust_id', Text, nullable=True),
    sa.Column('trustor_user_id', sa.String(64), nullable=True),
    sa.Column('password', Text, nullable=True),
    sa.Column('token', Text, nullable=True),                        # of the request, while its action runs
    sa.Column('method', sa.String(64), nullable=True),
    sa.Column('created_at', Time, nullable=False))

# What is measured, of one project. `dimensions`: [[name, value], ...], sorted by name, in one canonical form.
metric = _table(
    'metric',
    sa.Column('id', BigId, primary_key=True, autoincrement=True),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('namespace', Name, nullable=False),
    sa.Column('name', Name, nullable=False),
    sa.Column('dimensions', Json, nullable=False),
    sa.Column('digest', sa.String(64), nullable=False),             # monitoring.alarms.Metric.digest
    sa.Column('length', sa.SmallInteger, nullable=False),           # seconds of the periods that new data go into
    sa.Column('created_at', Time, nullable=False),
    sa.Column('seen_at', sa.Double, nullable=False),                # seconds since 1970; of data, within an hour
    sa.UniqueConstraint('project_id', 'digest', name='uq_metric_project_id_digest'),
    sa.Index('ix_metric_project_id_namespace_name', 'project_id', 'namespace', 'name'),
    sa.Index('ix_metric_seen_at', 'seen_at'))

# The sum of all datapoints of one metric and unit in one period. Each datapoint is part of exactly one row: what is old
# moves into longer periods.
metric_period = _table(
    'metric_period',
    sa.Column('metric_id', sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column('length', sa.Integer, primary_key=True, autoincrement=False),         # seconds
    sa.Column('start', sa.BigInteger, primary_key=True, autoincrement=False),       # seconds since 1970
    sa.Column('unit', Word, primary_key=True),
    sa.Column('samples', sa.Double, nullable=False),
    sa.Column('total', sa.Double, nullable=False),
    sa.Column('smallest', sa.Double, nullable=False),
    sa.Column('largest', sa.Double, nullable=False),
    sa.Index('ix_metric_period_length_start', 'length', 'start'))

alarm = _table(
    'alarm',
    sa.Column('id', Id, primary_key=True),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('name', Name, nullable=False),
    sa.Column('shard', sa.SmallInteger, nullable=False),            # of its project: db.alarms.shard_of
    sa.Column('stack_id', Id, nullable=True),                       # the stack whose resource it is
    sa.Column('resource_name', Name, nullable=True),
    sa.Column('digest', sa.String(64), nullable=False),             # of its metric
    sa.Column('period', sa.Integer, nullable=False),                # seconds, as in the rule
    sa.Column('rule', Json, nullable=False),                        # monitoring.alarms.Rule.to_json
    sa.Column('actions_enabled', sa.Boolean, nullable=False),
    sa.Column('state', Word, nullable=False),
    sa.Column('reason', Text, nullable=False),
    sa.Column('reason_data', Json, nullable=True),
    sa.Column('state_at', Time, nullable=False),
    sa.Column('updated_at', Time, nullable=False),                  # of the rule
    sa.Column('version', sa.Integer, nullable=False),               # grows with each change that is no evaluation
    sa.Column('evaluated', sa.BigInteger, nullable=False),          # end of the last evaluated period, since 1970
    sa.Column('due_at', sa.Double, nullable=False),                 # seconds since 1970, of the next evaluation
    sa.UniqueConstraint('project_id', 'name', name='uq_alarm_project_id_name'),
    sa.Index('ix_alarm_shard_due_at', 'shard', 'due_at'),
    sa.Index('ix_alarm_project_id_digest', 'project_id', 'digest'),
    sa.Index('ix_alarm_stack_id', 'stack_id'))

alarm_history = _table(
    'alarm_history',
    sa.Column('id', BigId, primary_key=True, autoincrement=True),
    sa.Column('alarm_id', Id, nullable=False),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('name', Name, nullable=False),
    sa.Column('kind', Word, nullable=False),                        # ConfigurationUpdate, StateUpdate, Action
    sa.Column('summary', Text, nullable=False),
    sa.Column('data', Json, nullable=True),
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_alarm_history_project_id_name_id', 'project_id', 'name', 'id'),
    sa.Index('ix_alarm_history_project_id_id', 'project_id', 'id'),
    sa.Index('ix_alarm_history_created_at', 'created_at'))

# Requests that follow from alarms and are not sent yet.
alarm_webhook = _table(
    'alarm_webhook',
    sa.Column('id', BigId, primary_key=True, autoincrement=True),
    sa.Column('alarm_id', Id, nullable=False),
    sa.Column('project_id', sa.String(64), nullable=False),
    sa.Column('shard', sa.SmallInteger, nullable=False),
    sa.Column('name', Name, nullable=False),                        # of the alarm
    sa.Column('url', Json, nullable=False),
    sa.Column('body', Json, nullable=False),
    sa.Column('attempts', sa.Integer, nullable=False),
    sa.Column('due_at', sa.Double, nullable=False),                 # seconds since 1970
    sa.Column('created_at', Time, nullable=False),
    sa.Index('ix_alarm_webhook_shard_due_at', 'shard', 'due_at'),
    sqlite_autoincrement=True)                                      # a repeated removal must not hit a later request

# In the home cell's database: where the projects are that are not in the home cell, or are being moved.
project_cell = _table(
    'project_cell',
    sa.Column('project_id', sa.String(64), primary_key=True),
    sa.Column('cell', sa.String(64), nullable=False),               # whose database has the rows
    sa.Column('moving_to', sa.String(64), nullable=True),           # null: it is not being moved
    sa.Column('leaving', sa.String(64), nullable=True),             # the cell in which rows are left to delete
    sa.Column('since', Time, nullable=False),                       # of the last change of this row
    sa.Column('numbers', Json, nullable=True),                      # of its events before: db.project_cells.Numbers
    sa.Index('ix_project_cell_cell', 'cell'))

# In the database of each cell: the projects for which new rows were accepted here, and those that have left. The row
# without a project exists in databases that are cells: only there do engines ask.
project_presence = _table(
    'project_presence',
    sa.Column('project_id', sa.String(64), primary_key=True),
    sa.Column('has_left', sa.Boolean, nullable=False),
    sa.Column('since', Time, nullable=False),
    sa.Column('uses', sa.BigInteger, nullable=False, server_default='0'))   # on Galera: see `writes` of leases

# Trees that were taken over from a Heat, also those that were deleted and purged here since.
taken_over = _table(
    'taken_over',
    sa.Column('root_id', Id, primary_key=True),
    sa.Column('source', sa.String(32), nullable=False))             # which Heat: a digest

# For which projects a Heat has been replaced for good: after that nothing of its database replaces what is here.
take_over_switch = _table(
    'take_over_switch',
    sa.Column('source', sa.String(32), primary_key=True),
    sa.Column('project_id', sa.String(64), primary_key=True),       # '': all projects
    sa.Column('switched_at', Time, nullable=False))

# Columns that hold what users wrote: sealed with `encrypt_parameters_and_properties`. The documents of nested stacks
# are not written by users but made from values of their parents, and always sealed.
WRITTEN_BY_USERS = {
    template: ('document', 'environment'),
    files: ('content',),
}

# Columns that hold what types produced, including secrets that no user chose: always sealed.
SEALED = {
    stack: ('parameters', 'outputs', 'request'),
    resource: ('handle', 'properties', 'definition', 'metadata', 'attributes', 'cause', 'waits'),
    event: ('properties',),
    signal: ('details',),
    signal_error: ('error',),
    snapshot: ('data',),
    revision: ('parameters',),
    plan: ('document', 'request'),
    drift: ('report',),
    forced_delete: ('left_behind',),
    software_config: ('config',),
    software_deployment: ('input_values', 'output_values'),
    alarm: ('rule', 'reason_data'),
    alarm_history: ('data',),
    alarm_webhook: ('url', 'body'),
}
