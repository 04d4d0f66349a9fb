"""Lets the deployments be found that belong to the users of a stack.

Engines and APIs of the previous release write and read the table as before.
"""

from alembic import op

revision = '0020'
down_revision = '0019'


def upgrade() -> None:
    op.create_index('ix_software_deployment_user_project', 'software_deployment',
                    ['stack_user_project_id', 'created_at', 'id'])
