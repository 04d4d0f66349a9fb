"""A part of aws-cli, for machines without it: `aws --endpoint-url URL cloudwatch ACTION --OPTION VALUE ...`.

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


def value_of(shape, text):
    match shape.type_name:
        case 'double' | 'float':
            return float(text)
        case 'integer' | 'long':
            return int(text)
        case 'list' if shape.member.type_name == 'structure':
            pairs = (each.partition('=') for each in text.split(','))
            return [{'Name': name, 'Value': value} for name, _equals, value in pairs]
        case 'list':
            return text.split(',')
    return text


def asked(model, action, words):
    """The parameters of an action. Those of put-metric-data describe one datum."""
    operation = next(model.operation_model(name) for name in model.operation_names
                     if xform_name(name, '-') == action)
    shape, datum = operation.input_shape, {}
    members = dict(shape.members)
    if action == 'put-metric-data':
        members |= members.pop('MetricData').member.members
    found = {}
    for option, text in zip(words[::2], words[1::2], strict=True):
        name = next(each for each in members if f'--{xform_name(each, "-")}' == option)
        (found if name in shape.members else datum)[name] = value_of(members[name], text)
    return {**found, 'MetricData': [datum]} if datum else found


def main(arguments):
    parser = argparse.ArgumentParser(prog='aws', allow_abbrev=False)
    parser.add_argument('--endpoint-url')
    parser.add_argument('--query')
    parser.add_argument('--output', default='json')
    parser.add_argument('service')
    parser.add_argument('action')
    said, words = parser.parse_known_args(arguments)
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
