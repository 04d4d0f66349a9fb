"""heatlite-language-server: answers what editors ask about templates, over standard input and output or on loopback.

Exit code 0, 1 if the editor did not ask for a shutdown, 2 for wrong usage or a missing library.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from heatlite.common import release
from heatlite.common.i18n import _
from heatlite.common.standard_output import ends_with_its_reader

PROGRAM: Final = 'heatlite-language-server'
LIBRARY: Final = 'pygls'


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    try:
        given = options().parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        from heatlite.editing import server
    except ModuleNotFoundError as error:
        if error.name not in (LIBRARY, 'lsprotocol'):
            raise
        print(_('%(program)s: %(library)s is missing: pip install ".[language-server]" in a checkout of heatlite') % {
            'program': PROGRAM, 'library': error.name}, file=sys.stderr)
        return 2
    made = server.make()
    if given.tcp is not None:
        made.start_tcp(server.LOOPBACK, given.tcp)
        return 0
    output = sys.stdout.buffer
    sys.stdout = sys.stderr                 # what types print must not come between the messages
    made.start_io(sys.stdin.buffer, output)
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_(
        'Answers what editors ask about templates, by the Language Server Protocol.'))
    parser.add_argument('--stdio', action='store_true', help=_('use standard input and output, which is the default'))
    parser.add_argument('--tcp', metavar='PORT', type=int,
                        help=_('wait for one editor at this port of the loopback address instead'))
    release.add_option(parser)
    return parser


if __name__ == '__main__':
    sys.exit(main())
