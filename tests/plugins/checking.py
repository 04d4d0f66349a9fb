"""Runs a check of each of our own types, and writes the page of its results, for a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from heatlite.engine.types import registry
from tests.plugins.own_types import own_types

T = TypeVar('T')


def main(names: list[str], place: Path, page: Callable[[], Iterable[str]], of: Callable[[Any, Any, str], T | None],
         differences: Callable[[str, T], Iterable[str]], shown: Callable[[T], str]) -> int:
    """Check all types, or those whose names contain one of `names`, and print what differs from what is known; with
    `--page` write the page instead. Return the exit code.

    `of(types, cloud_of, name)`: checks a type; None without an example. `shown(result)`: the figures of a type.
    """
    if names == ['--page']:
        place.write_text('\n'.join(page()))
        return 0
    registry.create()
    found, wrong = own_types(), 0
    with found.clouds() as cloud_of:
        for name in sorted(found.types):
            if names and not any(part in name for part in names):
                continue
            try:
                result = of(found, cloud_of, name)
            except Exception as error:
                print(f'{name}: {type(error).__name__}: {error}', flush=True)
                continue
            if result is None:
                continue
            for text in differences(name, result):
                wrong += 1
                print(text, flush=True)
            print(f'== {name}: {shown(result)}', flush=True)
    return int(bool(wrong))
