"""How the inputs and outputs of a software config are read, as Heat reads them."""

from heatlite.api.handlers import software_configs


def test_flags_and_descriptions():
    body = {'inputs': [{'name': 'a', 'replace_on_change': 'false', 'type': None, 'description': 5, 'default': None},
                       {'name': 'b', 'replace_on_change': 'True', 'description': None}],
            'outputs': [{'name': 'c', 'error_output': None}]}
    assert software_configs._items(body, 'inputs', software_configs._INPUT_KEYS) == [
        {'name': 'a', 'type': 'String', 'description': '5'},
        {'name': 'b', 'type': 'String', 'description': '', 'replace_on_change': True}]
    assert software_configs._items(body, 'outputs', software_configs._OUTPUT_KEYS) == [
        {'name': 'c', 'type': 'String', 'error_output': False}]
