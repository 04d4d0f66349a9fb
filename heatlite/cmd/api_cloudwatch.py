"""heatlite-api-cloudwatch: the CloudWatch API, for metrics that servers push and for alarms on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from heatlite.cmd import serving
from heatlite.common.standard_output import ends_with_its_reader


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    return serving.main('heatlite-api-cloudwatch', 'heatlite.cmd.api_cloudwatch', 'heat_api_cloudwatch',
                        'heatlite.api.cloudwatch.deploy', arguments, 'Serves the CloudWatch API.')


if __name__ == '__main__':
    sys.exit(main())
