"""Asks the database of OSV for known vulnerabilities of what constraints.txt pins: `tools/audit.py`, or `make audit`.

Exit code: 0 if none is known, 1 if some are, 2 if the database could not be asked - which says nothing about them.
Arguments are those of pip-audit, such as `--ignore-vuln ID` for a vulnerability that does not apply.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from collections.abc import Sequence

CONSTRAINTS = pathlib.Path(__file__).resolve().parents[1] / 'constraints.txt'
NONE, SOME, NOT_ASKED = 0, 1, 2


def main(arguments: Sequence[str], pinned: pathlib.Path = CONSTRAINTS) -> int:
    asked = subprocess.run(
        [sys.executable, '-m', 'pip_audit', '--vulnerability-service', 'osv', '--no-deps', '--disable-pip',
         '--progress-spinner', 'off', '--format', 'json', *arguments, '--requirement', str(pinned)],
        capture_output=True, text=True, check=False)
    try:
        found = json.loads(asked.stdout)['dependencies']
    except (ValueError, KeyError, TypeError):
        last = (asked.stderr.strip().splitlines() or ['no reason was given'])[-1]
        print(f'The database of vulnerabilities could not be asked, so nothing is known: {last}', file=sys.stderr)
        return NOT_ASKED
    for each in found:
        for known in each.get('vulns', ()):
            fixed = ', '.join(known['fix_versions']) or 'no version'
            print(f'{each["name"]} {each["version"]}: {known["id"]}, fixed in {fixed}')
    left_out = [each['name'] for each in found if 'skip_reason' in each]
    if left_out:
        print(f'Not asked about: {", ".join(left_out)}', file=sys.stderr)
    count = sum(len(each.get('vulns', ())) for each in found)
    print(f'{len(found) - len(left_out)} distributions, {count} known vulnerabilities')
    return SOME if count else NONE


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
