"""What a server gets as its user data, by format: a text, or a MIME message of parts that the server's first-boot agent
takes apart.

Source: docs/spec/engine.rst, "User data".
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Iterator, Mapping
from email.message import Message
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any
from urllib.parse import urlsplit

from oslo_config import cfg

from heatlite.common import mime_messages

FORMATS = (RAW, SOFTWARE_CONFIG, HEAT_CFNTOOLS) = ('RAW', 'SOFTWARE_CONFIG', 'HEAT_CFNTOOLS')

USER_LINE = string.Template('user: $user\n')
CLOUD_CONFIG = '''\
output:
  all: '| tee -a /var/log/cloud-init-output.log'
'''

BOOTHOOK = '''\
#!/bin/bash
# The tools of the cfn family look for each other in /opt/aws/bin, whatever way they were installed.
mkdir -p /opt/aws/bin
for tool in create-aws-symlinks init signal hup elect-cmd-leader get-metadata push-stats; do
    found=$(command -v "cfn-$tool") && ln -sf "$found" "/opt/aws/bin/cfn-$tool"
done
exit 0
'''

# Runs inside the server's first-boot agent, with whatever Python it has.
PART_HANDLER = '''\
#part-handler
import datetime
import os

FOLDERS = ('/var/lib/heat-cfntools', '/var/lib/cloud/data')
LOG = '/var/log/part-handler.log'


def list_types():
    return ['text/x-cfninitdata']


def handle_part(data, ctype, filename, payload):
    if ctype == '__begin__':
        for folder in FOLDERS:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o700)
        return
    if ctype == '__end__':
        return
    with open(LOG, 'a') as log:
        log.write('%s filename:%s, ctype:%s\\n' % (datetime.datetime.now(), filename, ctype))
    if ctype == 'text/x-cfninitdata':
        mode = 'wb' if isinstance(payload, bytes) else 'w'
        for folder in FOLDERS:
            with open(os.path.join(folder, filename), mode) as out:
                out.write(payload)
'''

# Runs the user's script, which the part handler has written, and leaves a mark when it is done.
LOG_USER_DATA = '''\
#!/usr/bin/env python3
import datetime
import os
import subprocess
import sys

FOLDER = '/var/lib/heat-cfntools'
SCRIPT = os.path.join(FOLDER, 'cfn-userdata')
DONE = os.path.join(FOLDER, 'provision-finished')
LOG = '/var/log/heat-provision.log'


def main():
    with open(LOG, 'a') as log:
        log.write('%s provision began\\n' % datetime.datetime.now())
        code = 0
        if os.path.exists(SCRIPT) and os.path.getsize(SCRIPT):
            os.chmod(SCRIPT, 0o700)
            try:
                code = subprocess.call([SCRIPT], stdout=log, stderr=subprocess.STDOUT)
            except OSError as error:
                log.write('%s\\n' % error)
                code = error.errno
                if code == 8:                   # no "#!" line: it is for the shell
                    code = subprocess.call(['/bin/sh', SCRIPT], stdout=log, stderr=subprocess.STDOUT)
        log.write('%s provision done, code %s\\n' % (datetime.datetime.now(), code))
    open(DONE, 'w').close()
    return code


if __name__ == '__main__':
    sys.exit(main())
'''

IGNITION_FILES = ('/var/lib/heat-cfntools/cfn-init-data', '/var/lib/cloud/data/cfn-init-data')
IGNITION_MODE = 0o640


def build(metadata: object, userdata: Any, instance_user: str | None, user_data_format: str,
          metadata_server: str | None, watch_server: str | None = None) -> str:
    """Return the user data. `metadata_server`, `watch_server`: URLs of the CFN and CloudWatch APIs, for HEAT_CFNTOOLS
    only."""
    if user_data_format == RAW:
        return userdata if userdata is not None else ''
    text = userdata.decode() if isinstance(userdata, bytes) else str(userdata or '')
    if user_data_format == SOFTWARE_CONFIG and is_ignition(text):
        return with_ignition_files(text, json.dumps(metadata) if metadata else '{}')
    whole = MIMEMultipart()
    for part in _parts(metadata, text, instance_user, user_data_format):
        whole.attach(part)
    if user_data_format == HEAT_CFNTOOLS and metadata_server:
        for part in _servers(metadata_server, watch_server):
            whole.attach(part)
    return mime_messages.written(whole)


def _parts(metadata: object, text: str, instance_user: str | None, user_data_format: str) -> Iterator[Message]:
    config = (USER_LINE.substitute(user=instance_user) if instance_user else '') + CLOUD_CONFIG
    yield part(config, 'cloud-config')
    yield part(BOOTHOOK, 'boothook.sh', 'cloud-boothook')
    yield part(PART_HANDLER, 'part-handler.py', 'part-handler')
    if user_data_format == SOFTWARE_CONFIG:
        yield from parts_of(text)
    else:
        yield part(text, 'cfn-userdata', 'x-cfninitdata')
        yield part(LOG_USER_DATA, 'loguserdata.py', 'x-shellscript')
    if metadata:
        yield part(json.dumps(metadata), 'cfn-init-data', 'x-cfninitdata')


def _servers(metadata_server: str, watch_server: str | None) -> Iterator[Message]:
    """Where the tools of heat-cfntools find the APIs."""
    yield part(metadata_server, 'cfn-metadata-server', 'x-cfninitdata')
    if watch_server:
        yield part(watch_server, 'cfn-watch-server', 'x-cfninitdata')
    yield part(boto_config(metadata_server, watch_server), 'cfn-boto-cfg', 'x-cfninitdata')


def part(content: str, filename: str, subtype: str | None = None) -> Message:
    """One part. Without a subtype, that of the file name's kind: cloud-config."""
    found = MIMEText(content, subtype or 'cloud-config')
    found.add_header('Content-Disposition', 'attachment', filename=filename)
    return found


def parts_of(text: str) -> Iterator[Message]:
    """Yield the parts of a MIME message; any other text is one part, its kind seen by its first line.

    Raises ValueError for too many parts or a header that is too long.
    """
    message = mime_messages.read(text)
    if message.is_multipart():
        yield from message.get_payload()        # type: ignore[misc]
    else:
        yield part(text, '', _kind(text))


# What the first line tells the first-boot agent.
KINDS = {'#cloud-config': 'cloud-config', '#include': 'x-include-url', '#!': 'x-shellscript',
         '#upstart-job': 'upstart-job', '#part-handler': 'part-handler', '#cloud-boothook': 'cloud-boothook',
         '#cloud-config-archive': 'cloud-config-archive'}


def _kind(text: str) -> str:
    fitting = [start for start in KINDS if text.startswith(start)]
    return KINDS[max(fitting, key=len)] if fitting else 'plain'


def boto_config(metadata_server: str, watch_server: str | None = None) -> str:
    """For cfn tools that talk to the CFN and CloudWatch APIs with boto."""
    at = urlsplit(metadata_server)
    secure = cfg.CONF.instance_connection_is_secure
    text = (f'[Boto]\ndebug = 0\nis_secure = {int(at.scheme == "https") if secure is None else secure}\n'
            f'https_validate_certificates = {cfg.CONF.instance_connection_https_validate_certificates}\n'
            f'cfn_region_name = heat\ncfn_region_endpoint = {at.hostname}\n')
    if watch_server:
        text += f'cloudwatch_region_name = heat\ncloudwatch_region_endpoint = {urlsplit(watch_server).hostname}\n'
    return text


def is_ignition(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, Mapping) and isinstance(found.get('ignition'), Mapping) \
        and 'version' in found['ignition']


def with_ignition_files(text: str, data: str) -> str:
    """Return the Ignition document with the metadata as two files more."""
    document = json.loads(text)
    source = 'data:;base64,' + base64.b64encode(data.encode()).decode('ascii')
    files = document.setdefault('storage', {}).setdefault('files', [])
    files += [{'path': path, 'mode': IGNITION_MODE, 'contents': {'source': source}} for path in IGNITION_FILES]
    return json.dumps(document)
