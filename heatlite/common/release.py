"""The installed release, how to add extras to it, and `--version` of the programs that read their command line without
oslo.config.

Imports no library: these programs start without those of the service.
"""

from __future__ import annotations

import argparse
from typing import Final

from heatlite.common.i18n import _

PROJECT: Final = 'heatlite'
# In no package index: extras come with the checkout, or the wheel, of which the service was installed.
INSTALL_EXTRA: Final = _(
    "Install it, in a checkout of heatlite: /opt/heatlite/bin/pip install -c constraints.txt '.[%s]'.")


def version() -> str:
    """Return the installed version; 'unreleased' without an installation."""
    from importlib import metadata
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        return 'unreleased'


def text() -> str:
    """Return what each program prints for `--version`."""
    return f'{PROJECT} {version()}'


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--version', action=_ShowVersion, nargs=0, help=_('show the version'))


class _ShowVersion(argparse.Action):
    """Reads the version only when it is asked for, other than the action of argparse."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object,
                 option_string: str | None = None) -> None:
        print(text())
        parser.exit()
