"""A program: checks the broker as `/readiness` does, with three URLs. Prints as JSON what each two checks find.

`python -m tests.rpc.checked_logins URL`; a process of its own because its threads are cooperative.
"""

import json
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
    conf = config.load([], 'checked', default_files=[])
    parts = urlsplit(url)
    urls = {'vhost': parts._replace(path='/no-such-host').geturl(),
            'password': parts._replace(netloc=f'{parts.username}:wrong@{parts.netloc.rpartition("@")[2]}').geturl(),
            'right': url}
    outcomes = {}
    for name, each in urls.items():
        ends = client.BrokerClient(conf, messaging.transport(conf, 'checked', each), url=each)
        outcomes[name] = [found(ends), found(ends), 'outage' if outages.seconds(outages.BROKER) else 'no outage']
    print(json.dumps(outcomes))


if __name__ == '__main__':
    main(sys.argv[1])
