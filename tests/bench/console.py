"""The console in Chromium with much to show: `python -m tests.bench.console [--smaller N] [--json]`.

A heatlite-all on loopback with a stack of 2 000 resources, one in progress of the same size, 20 000 events and 10 000
stacks. Prints what a first visit transfers, when it shows its first and its last content, and the time from an input to
the second frame after it, which shows all that the input changed: a frame alone takes 16 ms. Fails nothing; quote
medians and the load.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.console.conftest import ARGUMENTS, Service
from tests.console.stacks import template

NODES, EVENTS, STACKS, TEMPLATE_BYTES = 2000, 20_000, 10_000, 5_000_000
INPUTS = 15                             # of each kind
SETTINGS = ('max_resources_per_stack=-1', 'max_stacks_per_tenant=-1', 'max_events_per_stack=100000',
            'max_json_body_size=20000000', 'max_template_size=10000000')
WATCH = """() => {
    window.inputs = []
    for (const kind of ['keydown', 'pointerup', 'pointermove', 'wheel', 'scroll', 'input'])
        window.addEventListener(kind, event => {
            const began = event.timeStamp
            requestAnimationFrame(() => requestAnimationFrame(() => {
                const channel = new MessageChannel()
                channel.port1.onmessage = () => window.inputs.push([kind, performance.now() - began])
                channel.port2.postMessage(null)
            }))
        }, {capture: true, passive: true})
}"""
PAINTS = """() => new Promise(resolve => new PerformanceObserver(list => {
    const paints = performance.getEntriesByName('first-contentful-paint')
    const largest = list.getEntries().at(-1)
    if (paints.length) resolve({first: paints[0].startTime, largest: largest.startTime})
}).observe({type: 'largest-contentful-paint', buffered: true}))"""


def mesh(count: int, waiting: int = 0, value: str = 'a') -> dict[str, Any]:
    """Each resource needs up to two of the ten before it; the last `waiting` ones do not end."""
    def one(number: int) -> dict[str, Any]:
        needs = sorted({number - 1 - number * step % 10 for step in (3, 7)} & set(range(number)))
        return {'type': 'OS::Heat::TestResource',
                'properties': {'value': value, **({'wait_secs': 900} if number >= count - waiting else {})},
                **({'depends_on': [f'node-{each}' for each in needs]} if number < count - waiting else {})}
    return template(**{f'node-{each}': one(each) for each in range(count)})


def large_template(size: int) -> str:
    lines = ['heat_template_version: 2021-04-16', 'resources:']
    made = sum(map(len, lines))
    for number in itertools.count():
        if made >= size:
            return '\n'.join(lines) + '\n'
        lines += [f'  value-{number}:', '    type: OS::Heat::Value', f'    properties: {{value: "{"x" * 900}"}}']
        made += sum(map(len, lines[-3:])) + 3
    raise AssertionError


class Browser:
    """A new page for each measurement, and the times of its inputs."""

    def __init__(self, browser: Any, url: str) -> None:
        self.browser, self.url = browser, url

    @contextmanager
    def visit(self, address: str) -> Iterator[Page]:
        context = self.browser.new_context(viewport={'width': 1280, 'height': 800}, locale='en-GB')
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(f'{self.url}/console/{address}')
        yield page
        context.close()

    def times(self, page: Page, kind: str, act: Callable[[int], None], count: int = INPUTS) -> dict[str, float]:
        """Milliseconds: median and slowest of `count` inputs, and the processor's time of the page's thread for one."""
        session = page.context.new_cdp_session(page)
        session.send('Performance.enable', {'timeDomain': 'threadTicks'})
        page.evaluate(f'window.inputs ? (window.inputs = []) : ({WATCH})()')
        began = busy(session)
        for number in range(count):
            act(number)
            page.wait_for_function('([kind, most]) => window.inputs.filter(each => each[0] === kind).length > most',
                                   arg=[kind, number], polling=20)
            page.wait_for_timeout(50)
        used = busy(session) - began
        found = [each for name, each in page.evaluate('window.inputs') if name == kind]
        return {'median': statistics.median(found), 'slowest': max(found), 'cpu': used / count}


def busy(session: Any) -> float:
    """Milliseconds of the processor that the page's thread has used."""
    metrics = session.send('Performance.getMetrics')['metrics']
    return 1000 * next(each['value'] for each in metrics if each['name'] == 'TaskDuration')


def first_visit(browser: Browser) -> dict[str, Any]:
    sizes: dict[str, int] = {}
    with browser.visit('#/stacks/new') as page:
        page.get_by_text('The template is valid').wait_for()
        for name, size in page.evaluate(
                "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
                ".map(each => [each.name, each.transferSize])"):
            if '/console/' in name:
                sizes[name.rpartition('/')[2] or 'index.html'] = size
    with browser.visit('#/nowhere') as page:
        page.get_by_role('heading').first.wait_for()
        paints = page.evaluate(PAINTS)
    return {'transfer_kib': sum(sizes.values()) / 1024, 'first_paint_ms': paints['first'],
            'largest_paint_ms': paints['largest']}


def graph(browser: Browser, address: str) -> dict[str, Any]:
    with browser.visit(address) as page:
        began = time.monotonic()
        canvas = page.locator('canvas')
        canvas.wait_for()
        shown = (time.monotonic() - began) * 1000
        page.wait_for_timeout(1500)
        canvas.focus()
        box = canvas.bounding_box()
        assert box

        def at(number: int) -> tuple[float, float]:
            return box['x'] + 40 + number * 29 % 500, box['y'] + 60 + number * 37 % 400

        return {
            'shown_ms': shown,
            'move': browser.times(page, 'keydown', lambda number: page.keyboard.press(
                'ArrowLeft' if number % 2 else 'ArrowRight')),
            'next': browser.times(page, 'keydown', lambda _: page.keyboard.press('n')),
            'hover': browser.times(page, 'pointermove', lambda number: page.mouse.move(*at(number))),
            'click': browser.times(page, 'pointerup', lambda number: page.mouse.click(*at(number))),
            'wheel': browser.times(page, 'wheel', lambda number: page.mouse.wheel(0, -120 if number < 9 else 120))}


def table(browser: Browser, address: str) -> dict[str, Any]:
    with browser.visit(address) as page:
        began = time.monotonic()
        page.locator('.rows .row a, .rows .row strong').first.wait_for()
        shown = (time.monotonic() - began) * 1000
        page.wait_for_timeout(2500)
        page.locator('.rows').hover()
        found = {'shown_ms': shown, 'scroll': browser.times(
            page, 'scroll', lambda number: page.mouse.wheel(0, 900 if number % 4 < 2 else -900))}
        search = page.get_by_role('searchbox')
        if search.count():
            search.focus()
            found['filter'] = browser.times(page, 'input', lambda number: page.keyboard.press(
                'Backspace' if number % 6 > 2 else '123'[number % 6]))
        box = page.locator('.rows input[type=checkbox]').nth(1)
        if box.count():
            found['choose'] = browser.times(page, 'pointerup', lambda _: box.click())
        return found


def editor(browser: Browser, size: int) -> dict[str, Any]:
    text = large_template(size)
    with browser.visit('#/stacks/new') as page:
        page.get_by_text('The template is valid').wait_for()
        content = page.locator('.editor .cm-content')
        content.click()
        page.keyboard.press('Control+a')
        page.evaluate(WATCH)
        began = time.monotonic()
        page.evaluate("""text => {
            const data = new DataTransfer()
            data.setData('text/plain', text)
            const content = document.querySelector('.editor').shadowRoot.querySelector('.cm-content')
            content.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true}))
        }""", text)
        page.wait_for_function("document.querySelector('.editor').shadowRoot.textContent.includes('value-')")
        pasted = (time.monotonic() - began) * 1000
        page.locator('.verdict', has_text='Checking').wait_for(state='detached')
        checked = (time.monotonic() - began) * 1000
        page.keyboard.press('Control+Home')
        page.keyboard.press('End')
        return {'pasted_ms': pasted, 'checked_ms': checked, 'key': browser.times(
            page, 'keydown', lambda number: page.keyboard.press('Backspace' if number % 2 else '1'))}


def fill(service: Service, smaller: int) -> dict[str, str]:
    """Ids of the stacks `mesh`, with all the events, and `busy`; the others are there, too."""
    nodes = NODES // smaller
    ids = {'mesh': service.create('mesh', mesh(nodes)), 'busy': service.create('busy', mesh(nodes, nodes // 20))}
    service.until('mesh', 'CREATE_COMPLETE')
    for number in range(EVENTS // NODES // 2):
        service.ask('PATCH', f'/stacks/mesh/{ids["mesh"]}', {'template': mesh(nodes, value=f'v{number}')})
        service.until('mesh', 'UPDATE_COMPLETE')
    tiny = template(a={'type': 'OS::Heat::Value', 'properties': {'value': 1}})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: service.create(f'stack-{number:05}', tiny, tags=f't{number % 7}'),
                      range(STACKS // smaller)))
    return ids


def measure(smaller: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service = Service(Path(folder), *(word for each in SETTINGS for word in ('--set', each)))
        try:
            ids = fill(service, smaller)
            found: dict[str, Any] = {'load': os.getloadavg()[0]}
            launched = playwright.chromium.launch(executable_path=shutil.which('chromium'), args=ARGUMENTS)
            browser = Browser(launched, service.url)
            of = {name: f'#/stack/{name}/{ids[name]}' for name in ids}
            found['visit'] = first_visit(browser)
            found[f'graph, {NODES // smaller} resources'] = graph(browser, of['mesh'])
            found['graph, in progress'] = graph(browser, of['busy'])
            found['table of resources'] = table(browser, f'{of["mesh"]}/resources')
            found[f'{EVENTS // smaller} events'] = table(browser, f'{of["mesh"]}/events')
            found[f'{STACKS // smaller} stacks'] = table(browser, '#/stacks')
            found[f'editor, {TEMPLATE_BYTES // smaller} bytes'] = editor(browser, TEMPLATE_BYTES // smaller)
            found['load_after'] = os.getloadavg()[0]
            launched.close()
        finally:
            service.program.kill()
    return found


def shown(found: dict[str, Any]) -> str:
    visit = found['visit']
    lines = [f'load {found["load"]:.1f} before, {found["load_after"]:.1f} after',
             f'first visit: {visit["transfer_kib"]:.0f} KiB, first paint after {visit["first_paint_ms"]:.0f} ms, '
             f'largest after {visit["largest_paint_ms"]:.0f} ms']
    for name, figures in found.items():
        if name == 'visit' or not isinstance(figures, dict):
            continue
        inputs = {key: value for key, value in figures.items() if isinstance(value, dict)}
        whole = ', '.join(f'{key.removesuffix("_ms")} {value:.0f} ms' for key, value in figures.items()
                          if key not in inputs)
        each = ', '.join(f'{key} {value["median"]:.0f} (slowest {value["slowest"]:.0f}, CPU {value["cpu"]:.0f})'
                         for key, value in inputs.items())
        lines.append(f'{name:>24}: {whole}; ms from input to frame: {each}')
    return '\n'.join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m tests.bench.console', description=__doc__)
    parser.add_argument('--smaller', type=int, default=1, help='divides all sizes')
    parser.add_argument('--json', action='store_true')
    chosen = parser.parse_args()
    found = measure(chosen.smaller)
    print(json.dumps(found, indent=1) if chosen.json else shown(found))


if __name__ == '__main__':
    main()
