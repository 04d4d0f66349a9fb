"""The readable tests of the REST API, tests/gabbi, on the production profile: in the name of an ordinary member.

    python -m tests.system.gabbi [--database DATABASE] [--server SERVER] [PYTEST-ARGUMENT...]

Options allow to export and to adopt stacks. A request that a file makes with the roles of an administrator or a reader
has a token of such a one. The exit code is that of pytest.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.system import databases, production, servers
from tests.system.processes import ROOT

OPTIONS = {'enable_stack_abandon': 'true', 'enable_stack_adopt': 'true'}


def environment(cloud: production.Production) -> dict[str, str]:
    """What tests/api/test_gabbi.py has to know of a service elsewhere."""
    member, reader, other, admin = (cloud.people[name] for name in ('alpha', 'alpha_reader', 'beta', 'admin'))
    roles = {each['name']: each['id'] for each in cloud.keystone.get('/roles').json()['roles']}
    cloud.keystone.put(f'/projects/{member.project_id}/users/{admin.user_id}/roles/{roles["admin"]}')
    admin = dataclasses.replace(admin, project_id=member.project_id)
    return {'HEATLITE_TEST_URL': cloud.url, 'HEATLITE_TEST_PROJECT': member.project_id,
            'HEATLITE_TEST_TOKEN': member.token, 'HEATLITE_TEST_READER_TOKEN': reader.token,
            'HEATLITE_TEST_ADMIN_TOKEN': admin.token,
            'HEATLITE_TEST_OTHER_PROJECT': other.project_id, 'HEATLITE_TEST_OTHER_TOKEN': other.token}


def run(folder: Path, *arguments: str, database: str | None = None, server: str = 'heatlite') -> int:
    """Runs the tests that `arguments` of pytest choose, on a profile of their own. The exit code of pytest."""
    with production.Production(folder, database=database, server=server, **OPTIONS) as cloud:
        return subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests/api/test_gabbi.py', *arguments],
            cwd=ROOT, env={**os.environ, **environment(cloud)}, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.system.gabbi', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--database', choices=list(databases.SERVERS))
    parser.add_argument('--server', choices=servers.NAMES, default='heatlite')
    chosen, more = parser.parse_known_args()
    if not production.is_possible():
        sys.exit(production.REASON)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), *more, database=chosen.database, server=chosen.server)


if __name__ == '__main__':
    sys.exit(main())
