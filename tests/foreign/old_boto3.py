"""Run by the Python of boto3's virtual environment: one call of its CloudWatch client, as JSON.

    python old_boto3.py URL METHOD ARGUMENTS        keys from the environment; prints the answer, or the error's code
"""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

url, method, arguments = sys.argv[1:]
client = boto3.client('cloudwatch', endpoint_url=url, region_name='RegionOne',
                      config=Config(retries={'max_attempts': 0}))
assert client.meta.service_model.metadata['protocol'] == 'query'
try:
    answer = getattr(client, method)(**json.loads(arguments))
    answer.pop('ResponseMetadata')
except ClientError as error:
    answer = error.response['Error']['Code']
print(json.dumps(answer, default=str))
