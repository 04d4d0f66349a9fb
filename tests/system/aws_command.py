"""A part of aws-cli, for machines without it: `aws --endpoint-url URL cloudwatch ACTION --OPTION VALUE ...`. It has no
configuration, so `aws configure` does nothing.

The options are read by botocore's description of the API, as aws-cli does; `tools/foreign cloudwatch` runs the same
commands with the real one. Prints JSON, or with `--output text` what `--query` has found.
"""

from __future__ import annotations

import argparse
import json
import sys

import boto3
import jmespath
from botocore import xform_name
from botocore.config import Config


def value_of(shape, words):
    text = words[0]
    match shape.type_name:
        case 'double' | 'float':
            return float(text)
        case 'integer' | 'long':
            return int(text)
        case 'list' if shape.member.type_name == 'structure':
            pairs = dict(each.split('=') for each in text.split(','))
            return [pairs] if 'Name' in pairs else [{'Name': name, 'Value': value} for name, value in pairs.items()]
        case 'list':
            return words
    return text


def options(words):
    """{name: its values}"""
    found = {}
    for word in words:
        if word.startswith('--'):
            values = found.setdefault(word, [])
        else:
            values.append(word)
    return found


def asked(model, action, words):
    """The parameters of an action. Those of put-metric-data describe one datum."""
    operation = next(model.operation_model(name) for name in model.operation_names
                     if xform_name(name, '-') == action)
    shape, datum = operation.input_shape, {}
    members = dict(shape.members)
    if action == 'put-metric-data':
        members |= members.pop('MetricData').member.members
    found = {}
    for option, values in options(words).items():
        name = next(each for each in members if f'--{xform_name(each, "-")}' == option)
        (found if name in shape.members else datum)[name] = value_of(members[name], values)
    return {**found, 'MetricData': [datum]} if datum else found


def main(arguments):
    parser = argparse.ArgumentParser(prog='aws', allow_abbrev=False)
    parser.add_argument('--endpoint-url')
    parser.add_argument('--query')
    parser.add_argument('--output', default='json')
    parser.add_argument('service')
    parser.add_argument('action')
    said, words = parser.parse_known_args(arguments)
    if said.service == 'configure':
        return
    client = boto3.client(said.service, endpoint_url=said.endpoint_url, config=Config(proxies={}))
    answer = getattr(client, said.action.replace('-', '_'))(**asked(client.meta.service_model, said.action, words))
    answer.pop('ResponseMetadata')
    found = jmespath.search(said.query, answer) if said.query else answer
    if said.output == 'text':
        for row in found:
            print('\t'.join(map(str, row)))
    elif found:
        print(json.dumps(found, indent=4, default=str))


if __name__ == '__main__':
    main(sys.argv[1:])
