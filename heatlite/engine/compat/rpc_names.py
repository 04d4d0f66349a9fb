"""Names of the keys of what the engine returns about stacks: `heat.rpc.api`.

Plug-ins read with them what `Resource.rpc_client()` gives, and stacks of `heat`'s clients. The topics and messages of
Heat's own services are not among them.
"""

from __future__ import annotations

NAMES: dict[str, object] = {}


def _keys(group: str, prefix: str, words: str, *, of: str = '') -> None:
    """Add constants, and the tuple `group` of their values.

    `words`: a value each, whose constant is `prefix` and the value in capitals, or name=value. `of`: what the values
    begin with that the constants leave out.
    """
    values = []
    for word in words.split():
        name, _equals, value = word.rpartition('=')
        NAMES[prefix + (name or value.upper())] = found = value if name else of + value
        values.append(found)
    NAMES[group] = tuple(values)


_keys('PARAM_KEYS', 'PARAM_', '''TIMEOUT=timeout_mins disable_rollback adopt_stack_data show_deleted show_nested
      existing clear_parameters global_tenant limit nested_depth tags show_hidden tags_any not_tags not_tags_any
      template_type with_detail resolve_outputs ignore_errors converge''')
for _name in ('TEMPLATE_TYPE', 'RESOLVE_OUTPUTS'):
    NAMES[_name] = NAMES.pop(f'PARAM_{_name}')
_keys('STACK_KEYS', 'STACK_', '''NAME=stack_name ID=stack_identity creation_time updated_time deletion_time
      notification_topics description TMPL_DESCRIPTION=template_description parameters outputs ACTION=stack_action
      STATUS=stack_status STATUS_DATA=stack_status_reason capabilities disable_rollback TIMEOUT=timeout_mins
      OWNER=stack_owner parent USER_PROJECT_ID=stack_user_project_id tags''')
_keys('STACK_OUTPUT_KEYS', 'OUTPUT_', 'description KEY=output_key VALUE=output_value ERROR=output_error')
_keys('RES_KEYS', 'RES_', '''description creation_time updated_time NAME=resource_name PHYSICAL_ID=physical_resource_id
      metadata ACTION=resource_action STATUS=resource_status STATUS_DATA=resource_status_reason TYPE=resource_type
      ID=resource_identity STACK_ID=stack_identity stack_name required_by nested_stack_id nested_resources
      parent_resource properties attributes''')
_keys('RES_SCHEMA_KEYS', 'RES_SCHEMA_', 'RES_TYPE=resource_type properties attributes support_status description')
_keys('EVENT_KEYS', 'EVENT_', '''ID=event_identity STACK_ID=stack_identity stack_name TIMESTAMP=event_time
      RES_NAME=resource_name RES_PHYSICAL_ID=physical_resource_id RES_ACTION=resource_action RES_STATUS=resource_status
      RES_STATUS_DATA=resource_status_reason RES_TYPE=resource_type RES_PROPERTIES=resource_properties root_stack_id''')
_keys('NOTIFY_KEYS', 'NOTIFY_', '''tenant_id user_id USERID=user_identity username STACK_ID=stack_identity stack_name
      state state_reason create_at description UPDATE_AT=updated_at tags''')
_keys('VALIDATE_PARAM_KEYS', 'PARAM_', '''TYPE=Type DEFAULT=Default NO_ECHO=NoEcho ALLOWED_VALUES=AllowedValues
      ALLOWED_PATTERN=AllowedPattern MAX_LENGTH=MaxLength MIN_LENGTH=MinLength MAX_VALUE=MaxValue MIN_VALUE=MinValue
      STEP=Step OFFSET=Offset DESCRIPTION=Description CONSTRAINT_DESCRIPTION=ConstraintDescription LABEL=Label
      CUSTOM_CONSTRAINT=CustomConstraint VALUE=Value TAG=Tags''')
_keys('VALIDATE_PARAM_TYPES', 'PARAM_TYPE_',
      'STRING=String NUMBER=Number COMMA_DELIMITED_LIST=CommaDelimitedList JSON=Json BOOLEAN=Boolean')
_keys('SOFTWARE_CONFIG_KEYS', 'SOFTWARE_CONFIG_', 'id name group config inputs outputs options creation_time project')
_keys('SOFTWARE_DEPLOYMENT_KEYS', 'SOFTWARE_DEPLOYMENT_', '''id config_id server_id input_values output_values action
      status status_reason creation_time updated_time''')
_keys('SOFTWARE_DEPLOYMENT_STATUSES', 'SOFTWARE_DEPLOYMENT_',
      'IN_PROGRESS=IN_PROGRESS FAILED=FAILED COMPLETE=COMPLETE')
_keys('SOFTWARE_DEPLOYMENT_OUTPUTS', 'SOFTWARE_DEPLOYMENT_OUTPUT_', 'stdout stderr status_code', of='deploy_')
_keys('SNAPSHOT_KEYS', 'SNAPSHOT_', 'id name stack_id data action status status_reason creation_time')
_keys('RESOURCE_SNAPSHOT_KEYS', 'RESOURCE_SNAPSHOT_', 'id snapshot_id resource_name data creation_time')
