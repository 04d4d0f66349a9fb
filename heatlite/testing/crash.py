"""How thoroughly engines are killed, as one says it on a command line."""

from __future__ import annotations

import argparse

ALL, NONE = 1, 0


def every(text: str) -> int:
    """Which of the points is tried: 1 for all, 0 for none, or the number. Raises ArgumentTypeError."""
    known = {'all': ALL, 'none': NONE}
    if text in known:
        return known[text]
    if text.isdigit() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError('all, none, or a number from 1')
