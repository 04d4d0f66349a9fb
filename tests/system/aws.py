"""Signatures of AWS requests, versions 2 and 4, as clients of the CloudFormation API make them."""

import datetime
import hashlib
import hmac
from base64 import b64encode
from urllib.parse import quote


def now():
    return datetime.datetime.now(datetime.UTC)


def version_2(key, verb, host, path, **parameters):
    """The parameters of a request with their signature. `key`: (access, secret)."""
    access, secret = key
    signed = {'AWSAccessKeyId': access, 'SignatureMethod': 'HmacSHA256', 'SignatureVersion': '2', **parameters}
    query = '&'.join(f'{quote(name, "")}={quote(value, "-_~")}' for name, value in sorted(signed.items()))
    text = f'{verb}\n{host}\n{path}\n{query}'
    signature = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return {**signed, 'Signature': b64encode(signature).decode()}


def version_4(key, host, path, body, region='RegionOne', service='cloudformation'):
    """Headers of a signed POST. `key`: (access, secret)."""
    access, secret = key
    at = now().strftime('%Y%m%dT%H%M%SZ')
    scope = f'{at[:8]}/{region}/{service}/aws4_request'
    canonical = (f'POST\n{path}\n\nhost:{host}\nx-amz-date:{at}\n\nhost;x-amz-date\n'
                 f'{hashlib.sha256(body).hexdigest()}')
    text = f'AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}'
    made = f'AWS4{secret}'.encode()
    for part in scope.split('/'):
        made = hmac.new(made, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(made, text.encode(), hashlib.sha256).hexdigest()
    return {'X-Amz-Date': at, 'Authorization': f'AWS4-HMAC-SHA256 Credential={access}/{scope}, '
                                               f'SignedHeaders=host;x-amz-date, Signature={signature}'}
