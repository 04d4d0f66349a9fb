"""Pictures of pages that do not depend on the hour, on chance or on the machine's speed, and how they are compared.

Two pictures are compared by the mean colours of squares of BLOCK pixels: the edges of letters differ between versions
of the browser, what is drawn does not. The browser does the arithmetic, in pictures.js.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

FOLDER = Path(__file__).with_name('pictures')
FONTS = FOLDER / 'fonts.json'
NOW = '2026-01-01T12:00:00Z'            # by the clock of the browser
THEN = '2026-01-01T11:57:00Z'           # every time that the service tells
BLOCK = 8                               # pixels of the stored picture, which has half the size of the page
CLOSE = 24                              # of 255, in any colour
TOLERANCE = 0.004                       # part of the squares that may differ by more
SECONDS = (3.0, 12.4, 7.5, 41.0, 2.2)

_TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?"')
_HOST = re.compile(r'("(?:hostname|host|version|heatlite_version)"): "[^"]*"')
_CALL = re.compile(r'"call": (?:null|"[^"]*"), "next_at": (?:null|"[^"]*")')       # noted after ten seconds
_SECONDS = re.compile(r'("(?:seconds|seconds_left)"): [\d.]+')
_BROWSER = Path(__file__).with_name('pictures.js').read_text().partition('\n')[2].strip()


def steady(page) -> None:
    """Has the page see fixed times, durations and names of hosts, whatever the service tells."""
    page.clock.set_fixed_time(NOW)

    def answer(route):
        found = route.fetch()
        text = _TIME.sub(f'"{THEN}"', found.text())
        text = _HOST.sub(r'\1: "host-1"', text)
        text = _SECONDS.sub(r'\1: 12.0', text)
        text = _CALL.sub(f'"call": "check_create_complete", "next_at": "{THEN}"', text)
        if route.request.url.endswith('/timeline'):
            text = json.dumps(_spread(json.loads(text)))
        route.fulfill(response=found, body=text)

    page.route(re.compile(r'/v1/(?!.*events/stream)'), answer)


def _spread(found):
    """The same runs one after the other, each of a length that is fixed."""
    after = 0.0
    for place, run in enumerate(found['timeline']['runs']):
        seconds = SECONDS[place % len(SECONDS)]
        run.update(after=after, seconds=seconds)
        if run['seconds_before'] is not None:
            run['seconds_before'] = SECONDS[(place + 1) % len(SECONDS)]
        after += seconds
    before = found['timeline']['seconds_before']
    found['timeline'].update(seconds=after, seconds_before=None if before is None else after - 9.0)
    return found


def taken(page) -> bytes:
    """A PNG of the window once two in a row are the same."""
    # A function: the content policy lets no later attempt evaluate an expression.
    page.wait_for_function(
        "() => document.fonts.status === 'loaded' && !document.querySelector('.loading, .live:not(.on)')")
    last = b''
    for _attempt in range(20):
        _browser(page, 'steady')
        shown = page.screenshot(animations='disabled', caret='hide')
        if shown == last:
            return shown
        last = shown
        page.wait_for_timeout(150)
    raise AssertionError('the page does not come to rest')


def fonts(page) -> list[int]:
    """The widths of a line in the fonts of the console: where they differ from those of FONTS, all texts do."""
    return _browser(page, 'fonts')


def store(page, name: str, png: bytes) -> None:
    FOLDER.mkdir(exist_ok=True)
    small = _browser(page, 'half', _url('png', png))
    (FOLDER / f'{name}.webp').write_bytes(base64.b64decode(small.partition(',')[2]))


def difference(page, name: str, png: bytes) -> tuple[float, bytes]:
    """The part of the picture that differs from the stored one, and a PNG that shows where."""
    stored = (FOLDER / f'{name}.webp').read_bytes()
    part, shown = _browser(page, 'differ', [_url('webp', stored), _url('png', png), BLOCK, CLOSE])
    return part, base64.b64decode(shown.partition(',')[2])


def _browser(page, name, argument=None):
    return page.evaluate(f'{_BROWSER}.{name}', argument)


def _url(kind: str, content: bytes) -> str:
    return f'data:image/{kind};base64,{base64.b64encode(content).decode()}'
