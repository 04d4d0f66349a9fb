"""Finds a secret in bytes, however it is written there: plain, in JSON, in a URL, or in base64 at any offset."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 6            # characters; shorter texts are found everywhere by chance


def spellings(secret: str) -> set[bytes]:
    """All byte strings that give `secret` away."""
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1], quote(secret, safe=''),
             quote_plus(secret), secret.encode('unicode_escape').decode()}
    found = {text.encode() for text in texts}
    raw = secret.encode()
    for offset in range(3):
        for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
            # Characters that also depend on what stands before or behind it are left out.
            whole = alphabet(b'\0' * offset + raw).rstrip(b'=')
            skipped = (offset * 8 + 5) // 6
            sure = whole[skipped:(offset + len(raw)) * 8 // 6]
            if len(sure) > SHORTEST:
                found.add(sure)
    return found


class Search:
    """Looks for all secrets at once. `secrets`: kind -> texts."""

    def __init__(self, secrets: dict[str, Iterable[str]]) -> None:
        self._kinds: dict[bytes, str] = {}
        for kind, texts in secrets.items():
            for text in texts:
                assert len(text) >= SHORTEST, (kind, text)
                for spelled in spellings(text):
                    self._kinds[spelled] = kind
        longest_first = sorted(self._kinds, key=len, reverse=True)
        self._pattern = re.compile(b'|'.join(map(re.escape, longest_first)))

    def kinds(self, content: bytes | str) -> set[str]:
        """Kinds of the secrets that `content` gives away."""
        return {self._kinds[found.group()] for found in self.matches(content)}

    def matches(self, content: bytes | str) -> Iterator[re.Match[bytes]]:
        return self._pattern.finditer(content.encode() if isinstance(content, str) else content)
