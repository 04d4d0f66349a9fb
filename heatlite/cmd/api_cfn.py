"""heatlite-api-cfn: the CloudFormation API, for its clients and for agents in servers."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from heatlite.cmd import serving
from heatlite.common.standard_output import ends_with_its_reader


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    return serving.main('heatlite-api-cfn', 'heatlite.cmd.api_cfn', 'heat_api_cfn', 'heatlite.api.cfn.deploy',
                        arguments, 'Serves the CloudFormation API, and signals and metadata of servers.')


if __name__ == '__main__':
    sys.exit(main())
