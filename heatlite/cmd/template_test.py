"""heatlite-test: runs tests of templates against a simulated cloud. Exit code 0, 1 with failures, 2 for wrong usage.

The service and the cloud are those of `heatlite-all --cloud simulated`, started for the run with a folder of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from heatlite.authoring import junit, suites
from heatlite.authoring.reading import unreadable
from heatlite.authoring.running import SuiteResult, SuiteRunner
from heatlite.common import release
from heatlite.common.i18n import _
from heatlite.common.standard_output import ends_with_its_reader

PROGRAM: Final = 'heatlite-test'
ADDRESS: Final = re.compile(r'^(heatlite|A simulated cloud) listens on (http://[^;\s]+)')
STOPPING: Final = 20.0                  # seconds that the service has to stop
RETRIES: Final = 0                      # of a failed create: with more, a fault that hits once would be survived
SETTINGS: Final = {'boot': 0.05, 'work': 0.02}          # seconds that servers and other changes take in the cloud


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    try:
        given = options().parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        chosen = [(suite, case) for suite in map(suites.read, _files(given.file)) for case in suite.cases
                  if given.filter in case.name]
    except (suites.WrongSuite, OSError) as error:
        print(f'{PROGRAM}: {unreadable(error) if isinstance(error, OSError) else error}', file=sys.stderr)
        return 2
    if given.list:
        for suite, case in chosen:
            print(f'{suite.place(case.path)}: {case.name}')
        return 0
    if not chosen:
        print(f'{PROGRAM}: {_("no test was selected")}', file=sys.stderr)
        return 2
    results: list[SuiteResult] = []
    with service() as (url, cloud_url):
        runner = SuiteRunner(url, cloud_url, given.timeout)
        runner.cloud('PUT', 'settings', SETTINGS)
        for suite, case in chosen:
            results.append(runner.run(suite, case))
            _print(results[-1])
    failed = sum(bool(result.failures) for result in results)
    print(_('%(passed)d passed, %(failed)d failed') % {'passed': len(results) - failed, 'failed': failed})
    if given.junit:
        Path(given.junit).write_text(junit.document(results), encoding='utf-8')
    return 1 if failed else 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_('Runs tests of templates against a simulated cloud.'))
    parser.add_argument('file', metavar='FILE', nargs='+',
                        help=_('a file with tests, or a folder with files *%s') % suites.ENDING)
    parser.add_argument('-k', '--filter', metavar='TEXT', default='', help=_('only tests with this text in their name'))
    parser.add_argument('--list', action='store_true', help=_('list the tests, run none'))
    parser.add_argument('--junit', metavar='FILE', help=_('write the results as JUnit XML'))
    parser.add_argument('--timeout', metavar='SECONDS', type=float, default=60.0,
                        help=_('for one action of a stack; default: 60'))
    release.add_option(parser)
    return parser


def _files(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if Path(name).is_dir():
            yield from sorted(str(path) for path in Path(name).rglob(f'*{suites.ENDING}'))
        else:
            yield name


def _print(result: SuiteResult) -> None:
    word = 'FAILED' if result.failures else 'ok'
    print(f'{word} {result.suite.file}: {result.case.name} ({result.seconds:.1f} s)', flush=True)
    for failure in result.failures:
        print(f'  {failure}', flush=True)


@contextlib.contextmanager
def service() -> Iterator[tuple[str, str]]:
    """Start the service with a simulated cloud; give the URLs of the project and of the cloud. Raises SystemExit."""
    with tempfile.TemporaryDirectory(prefix='heatlite-test-') as folder:
        log = Path(folder) / 'log'
        with log.open('wb') as errors:
            process = subprocess.Popen(
                [sys.executable, '-m', 'heatlite.cmd.all_in_one', '--cloud', 'simulated', '--port', '0',
                 '--state-dir', folder, '--set', f'action_retry_limit={RETRIES}'],
                stdout=subprocess.PIPE, stderr=errors, text=True,
                env={name: value for name, value in os.environ.items() if not name.startswith('OS_')})
        try:
            yield _addresses(process, log)
        finally:
            process.terminate()
            try:
                process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _addresses(process: subprocess.Popen[str], log: Path) -> tuple[str, str]:
    found: dict[str, str] = {}
    for line in process.stdout or ():
        match = ADDRESS.match(line)
        if match is not None:
            found[match[1]] = match[2]
        if len(found) == 2:
            return f'{found["heatlite"]}/v1/admin', found['A simulated cloud']
    raise SystemExit(f'{PROGRAM}: {_("the service did not start")}: {log.read_text(errors="replace")[-2000:]}')


if __name__ == '__main__':
    sys.exit(main())
