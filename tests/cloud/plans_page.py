"""docs/developers/planned-changes.rst, from what was found: `python -m tests.cloud.plans_page` writes it anew."""

from __future__ import annotations

import re
import sys
from collections import Counter

from tests.cloud.page import table
from tests.cloud.planned import AGREED, DIFFERS, REFUSED, UNTRIED
from tests.cloud.plans import recorded, summary
from tests.system.processes import ROOT

FILE = ROOT / 'docs' / 'developers' / 'planned-changes.rst'
HEAD = '''Planned changes in a real cloud
===============================
Written by ``python -m tests.cloud.plans_page`` from what ``python -m tests.cloud.plans CLOUD --record`` found; a test
compares it.

For each resource type that the cloud serves, and for each property of which another value can be given, a stack is
made, its changed template is planned with and without a look at the cloud, and one of the plans is applied. A change
*agreed* if all of this is so: both plans say the same, and which property replaces the resource; the resource was
then updated in place, replaced or left alone as they said, by its events, its physical id, the object in the service
and the calls that reached the service (``DELETE`` of the former object only when it was replaced); an object that was
updated shows another value; and afterwards a plan of the same template is empty, with a look at the cloud, too. It
was *refused* if the service did not accept the change: the update failed with its sentence, and the stack could be
deleted. The values are those of the simulator's tests where ``tests/cloud/changes.yaml`` gives no others. The cloud
has Keystone, Nova, Neutron, Glance, Cinder, Octavia, Barbican, Designate, Aodh, Zaqar, Mistral and Swift. A type that
is in neither table was not tried yet.

'''
IDS = re.compile(r' \(Request-ID: [^)]*\)|[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b')
MOST = 110                                  # characters of a sentence


def text() -> str:
    found = recorded()
    rows = []
    for name, outcomes in sorted(found.items()):
        counts = Counter(each.verdict for each in outcomes)
        if any(each.verdict != UNTRIED for each in outcomes):
            rows.append((name, *(str(counts[verdict] or '') for verdict in (AGREED, REFUSED, DIFFERS, UNTRIED))))
    reasons = [(name, each.name, each.verdict, short(each.text)) for name, outcomes in sorted(found.items())
               for each in outcomes if each.verdict != AGREED]
    return ''.join([HEAD, summary(found), '.\n\n', table([('type', AGREED, REFUSED, DIFFERS, UNTRIED), *rows]),
                    '\nWhat did not agree\n------------------\n\n',
                    table([('type', 'property', 'verdict', 'reason'), *reasons])])


def short(sentence: str) -> str:
    """Without ids, and in one line."""
    plain = ' '.join(IDS.sub('', sentence).split()).replace('*', r'\*').replace('`', "'").replace('|', '/').replace(
        '_', r'\_')
    return plain if len(plain) <= MOST else plain[:MOST].rstrip('\\') + '...'


def main() -> int:
    FILE.write_text(text())
    return 0


if __name__ == '__main__':
    sys.exit(main())
