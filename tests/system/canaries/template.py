"""The stack that holds secrets of every kind, and the words that are its secrets."""

from __future__ import annotations

from typing import Any

# What users choose. Quotes and percent signs are written differently in JSON and in URLs.
FIRST = {
    'hidden string': 'cnry-string-"1%é',
    'hidden number': '739184620511',
    'hidden json': 'cnry-json-one',
    'hidden json key list': 'cnry-json-in-a-list',
    'hidden list': 'cnry-list-one',
    'hidden parameter of the environment': 'cnry-environment-one',
    'hidden parameter default of the environment': 'cnry-parameter-default-one',
    'hidden parameter of a nested stack': 'cnry-nested-hidden-one',
    'hidden default': 'cnry-by-default',
    'hidden default of a file': 'cnry-in-a-file',
}
SECOND = {
    'old and new string': 'cnry-string-two',
    'new number': '826401957733',
    'new json': 'cnry-json-two',
    'new list': 'cnry-list-two',
    'new parameter of the environment': 'cnry-environment-two',
    'new parameter default of the environment': 'cnry-parameter-default-two',
    'new parameter of a nested stack': 'cnry-nested-hidden-two',
}
PREVIEWED = {'previewed string': 'cnry-string-previewed'}
WRONG = {'wrong pattern': 'cnry-wrong-pattern', 'wrong number': 'cnry-not-a-number', 'wrong json': '{cnry-no-json',
         'late type': 'cnry-late-type', 'refused by the type': 'cnry-refused-by-type'}
SIGNALLED = {'signal': 'cnry-signalled'}
HOOK = {'path of a web hook': 'cnry-path-of-a-web-hook'}
MASK = '******'

NESTED = f"""
heat_template_version: 2018-08-31
parameters:
  word: {{type: string}}
  generated: {{type: string}}
  own: {{type: string, hidden: true}}
  by_default: {{type: string, hidden: true, default: {FIRST['hidden default of a file']}}}
  pd: {{type: string}}
resources:
  inner:
    type: OS::Heat::Value
    properties: {{value: {{list_join: [' ', [{{get_param: word}}, {{get_param: own}}]]}}}}
  kept: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: generated}}}}}}
  a_default: {{type: OS::Heat::Value, properties: {{value: {{get_param: pd}}}}}}
  another_default: {{type: OS::Heat::Value, properties: {{value: {{get_param: by_default}}}}}}
"""


def template(simulated: bool) -> dict[str, Any]:
    """`simulated`: there is a cloud in which servers and key pairs can be made."""
    found: dict[str, Any] = {
        'heat_template_version': '2018-08-31',
        'parameters': {
            'word': {'type': 'string', 'hidden': True, 'constraints': [{'allowed_pattern': 'cnry-string.*'}]},
            'number': {'type': 'number', 'hidden': True},
            'doc': {'type': 'json', 'hidden': True},
            'words': {'type': 'comma_delimited_list', 'hidden': True},
            'environment': {'type': 'string', 'hidden': True},
            'pd': {'type': 'string', 'hidden': True},
            'own': {'type': 'string', 'hidden': True}, 'hook': {'type': 'string', 'hidden': True},
            'by_default': {'type': 'string', 'hidden': True, 'default': FIRST['hidden default']}},
        'resources': {
            'plain': {'type': 'OS::Heat::Value', 'metadata': {'in': {'get_param': 'word'}},
                      'properties': {'value': {'get_param': 'word'}}},
            'a_number': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'number'}}},
            'a_document': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'doc'}}},
            'some_words': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'words'}}},
            'others': {'type': 'OS::Heat::Value', 'properties': {'value': [
                {'get_param': 'environment'}, {'get_param': 'pd'}, {'get_param': 'by_default'}]}},
            'made': {'type': 'OS::Heat::TestResource', 'properties': {'value': {'str_replace': {
                'template': 'pw=$p;', 'params': {'$p': {'get_param': 'word'}}}}}},
            'random': {'type': 'OS::Heat::RandomString', 'properties': {'length': 40}},
            'follows': {'type': 'OS::Heat::TestResource', 'properties': {'value': {'get_attr': ['random', 'value']}}},
            'below': {'type': 'nested.yaml', 'properties': {
                'word': {'get_param': 'word'}, 'own': {'get_param': 'own'}, 'pd': {'get_param': 'pd'},
                'generated': {'get_attr': ['random', 'value']}}},
            'members': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {
                'type': 'OS::Heat::TestResource', 'properties': {'value': {'list_join': ['/', [
                    {'get_param': 'word'}, {'get_attr': ['random', 'value']}]]}}}}},
            'user': {'type': 'AWS::IAM::User'},
            'access': {'type': 'AWS::IAM::AccessKey', 'properties': {'UserName': {'get_resource': 'user'}}},
            'heat_handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {
                'signal_transport': 'HEAT_SIGNAL'}},
            'token_handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {
                'signal_transport': 'TOKEN_SIGNAL'}},
            'signed_handle': {'type': 'AWS::CloudFormation::WaitConditionHandle'},
            'policy': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
                'auto_scaling_group_id': {'get_resource': 'scaled'}, 'adjustment_type': 'change_in_capacity',
                'scaling_adjustment': 1}},
            'alarm': {'type': 'OS::Heat::CWLiteAlarm', 'properties': {
                'Namespace': 'n', 'MetricName': 'm', 'Statistic': 'Sum', 'Period': '86400', 'EvaluationPeriods': '1',
                'Threshold': '1', 'ComparisonOperator': 'GreaterThanThreshold', 'AlarmActions': [{'get_param': 'hook'}],
                'OKActions': [{'get_attr': ['policy', 'alarm_url']}]}},
            'scaled': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
                'min_size': 0, 'max_size': 2, 'desired_capacity': 0,
                'resource': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'word'}}}}}},
        'outputs': {'generated': {'value': {'get_attr': ['random', 'value']}}}}
    if simulated:
        found['resources'] |= {
            'key': {'type': 'OS::Nova::KeyPair', 'properties': {
                'name': {'get_param': 'OS::stack_name'}, 'save_private_key': True}},
            'server': {'type': 'OS::Nova::Server', 'metadata': {'secret': {'get_param': 'word'}}, 'properties': {
                'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}],
                'admin_pass': {'get_param': 'own'}, 'user_data_format': 'SOFTWARE_CONFIG',
                'user_data': {'str_replace': {'template': 'password: $p $r', 'params': {
                    '$p': {'get_param': 'word'}, '$r': {'get_attr': ['random', 'value']}}}}}},
            'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {
                'group': 'script', 'config': {'get_param': 'word'}, 'inputs': [
                    {'name': 'p', 'default': {'get_param': 'own'}}]}},
            'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
                'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'},
                'signal_transport': 'NO_SIGNAL', 'input_values': {'p': {'get_param': 'word'}}}},
            'swift': {'type': 'OS::Heat::SwiftSignalHandle'}}
    return found


def source(word: dict[str, str], simulated: bool, string: str) -> dict[str, Any]:
    """The body of a request. `word`: FIRST or SECOND; their entries stand in the same order."""
    values = list(word.values())
    is_first = word is FIRST
    number, document, words = values[1], values[2], values[4] if is_first else values[3]
    environment, default, own = values[5:8] if is_first else values[4:7]
    inner = FIRST['hidden json key list'] if is_first else 'cnry-second-json-list'
    return {
        'template': template(simulated), 'files': {'nested.yaml': NESTED},
        'environment': {'parameters': {'environment': environment}, 'parameter_defaults': {'pd': default}},
        'parameters': {'word': string, 'number': number, 'doc': {'k': document, 'l': [inner]},
                       'words': f'{words},{words}-b', 'own': own,
                       'hook': f'https://hooks.invalid/{HOOK["path of a web hook"]}'}}
