"""heatlite-api: the REST API, served by the built-in HTTP server. For any other server: heatlite.wsgi.api."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from heatlite.cmd import serving
from heatlite.common.standard_output import ends_with_its_reader


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    return serving.main('heatlite-api', 'heatlite.cmd.api', 'heat_api', 'heatlite.api.deploy', arguments,
                        'Serves the REST API.')


if __name__ == '__main__':
    sys.exit(main())
