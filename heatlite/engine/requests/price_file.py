"""Reads the operator's file of prices (option `[plans] prices`)."""

from __future__ import annotations

from pathlib import Path

import yaml

from heatlite.common import exception
from heatlite.planning.costs import prices
from heatlite.planning.costs.prices import Prices


def load(name: str) -> Prices | None:
    """Return the prices of a file; None without a name. Raises Error, naming the file."""
    if not name:
        return None
    try:
        return prices.parse(yaml.safe_load(Path(name).read_text()))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, prices.WrongPrices) as error:
        raise exception.Error(f'{name}: {error}') from None
