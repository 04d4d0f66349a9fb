"""Prints outcomes, for people and for programs. Secrets of the configuration are removed from what was found."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TextIO

from oslo_config import cfg

from heatlite.cmd.doctor.checks import FAILED, STATUSES, CheckOutcome
from heatlite.common import settings
from heatlite.common.i18n import _

SHORTEST = 4                                    # characters: shorter ones would hide parts of words
HIDDEN = '***'

Hide = Callable[[str], str]


def hiding(conf: cfg.ConfigOpts) -> Hide:
    """Return a function that replaces all secret values of the options, and the passwords in URLs.

    Messages of libraries do not have them; this is for one that does. Parts of paths and of words are not replaced.
    """
    found: set[str] = set()
    for (group, name), opt in settings.registered(conf).items():
        if isinstance(opt, cfg.SubCommandOpt):
            continue
        try:
            value = conf[name] if group == settings.DEFAULT else conf[group][name]
        except (cfg.Error, ValueError):
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                found.update([text] if opt.secret and '://' not in text else ())
                found.update(_passwords(text))
    secrets = sorted((each for each in found if len(each) >= SHORTEST), key=len, reverse=True)

    pattern = re.compile('|'.join(rf'(?<![\w./-]){re.escape(each)}(?![\w/-])' for each in secrets) or '(?!)')

    def hide(text: str) -> str:
        return pattern.sub(HIDDEN, text)

    return hide


def _passwords(text: str) -> Iterator[str]:
    if '://' in text and '@' in text:
        for each in text.partition('://')[2].split(','):
            _user, colon, password = each.rpartition('@')[0].partition(':')
            if colon:
                yield from (password, urllib.parse.unquote(password))


def totals(outcomes: Sequence[CheckOutcome]) -> Mapping[str, int]:
    count = Counter(each.status for each in outcomes)
    return {status: count[status] for status in STATUSES}


def text(outcomes: Sequence[CheckOutcome], hide: Hide, stream: TextIO) -> None:
    """One line for each check; below it what was found."""
    width = max((len(each.check.name) for each in outcomes), default=0)
    for each in outcomes:
        tail = f'{each.check.tests}: {each.reason}' if each.reason else each.check.tests
        print(f'{each.status:<9} {each.check.name:<{width}}  {tail}', file=stream)
        for finding in each.findings:
            for word, value in ((_('expected'), finding.expected), (_('found'), hide(finding.found)),
                                (_('fix'), finding.fix)):
                print(f'{"":<10}{word + ":":<10}{value}', file=stream)
    print(', '.join(f'{status}: {number}' for status, number in totals(outcomes).items()), file=stream)


def document(outcomes: Sequence[CheckOutcome], hide: Hide, stream: TextIO) -> None:
    """JSON: `checks`, each with `name`, `tests`, `status`, `reason`, `findings`; `totals` by status; `is_ok`."""
    found = [{'name': each.check.name, 'tests': each.check.tests, 'status': each.status, 'reason': each.reason,
              'findings': [{'level': finding.level, 'expected': finding.expected, 'found': hide(finding.found),
                            'fix': finding.fix} for finding in each.findings]} for each in outcomes]
    count = totals(outcomes)
    json.dump({'checks': found, 'totals': count, 'is_ok': not count[FAILED]}, stream, indent=2)
    print(file=stream)


FORMATS: Mapping[str, Callable[[Sequence[CheckOutcome], Hide, TextIO], None]] = {'text': text, 'json': document}
