"""A program: checks the broker as `/readiness` does, with several URLs. Prints as JSON what each two checks find.

`python -m tests.rpc.checked_logins URL`; a process of its own because its threads are cooperative.
"""

import json
import random
import sys
from urllib.parse import urlsplit

from heatlite.common import config, exception, messaging, outages
from heatlite.common import runtime as runtimes
from heatlite.rpc import client

REASONS = {'virtual host': 'vhost', 'password': 'password'}


def found(ends):
    try:
        ends.check()
    except exception.BrokerUnavailable as error:
        return next((name for words, name in REASONS.items() if words in str(error)), str(error))
    return 'ok'


def main(url):
    runtimes.patch()
    random.shuffle = lambda hosts: hosts.append(hosts.pop(0))       # one after the other: the first one is away
    conf = config.load([], 'checked', default_files=[])
    parts = urlsplit(url)
    away = f'{parts.username}:{parts.password}@127.0.0.1:1'
    urls = {'vhost': parts._replace(path='/no-such-host').geturl(),
            'password': parts._replace(netloc=f'{parts.username}:wrong@{parts.netloc.rpartition("@")[2]}').geturl(),
            'right': url,
            'hosts': parts._replace(netloc=','.join([parts.netloc, away, away])).geturl()}
    outcomes = {}
    for name, each in urls.items():
        ends = client.BrokerClient(conf, messaging.transport(conf, 'checked', each), url=each)
        outcomes[name] = [found(ends), found(ends), 'outage' if outages.seconds(outages.BROKER) else 'no outage']
    print(json.dumps(outcomes))


if __name__ == '__main__':
    main(sys.argv[1])
