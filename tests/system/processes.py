"""Programs under test as real processes: started, asked, stopped. Nothing of them outlives a test."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0         # seconds until something that must happen counts as not happening
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
FIRST_PORT, PORTS = 29000, 3700         # above those of tools/services, below those of outgoing connections in Linux
_ports = (FIRST_PORT + (os.getpid() * 97 + taken) % PORTS for taken in itertools.count())
_tokens: dict[str, str] = {}            # by the beginning of URLs


def log_in(url, token):
    """From now on `ask` sends this token of an identity service to URLs that begin with `url`."""
    _tokens[url] = token


def login(url):
    """The headers of the login that was made there; none without one."""
    return next(({'X-Auth-Token': token} for place, token in _tokens.items() if url.startswith(place)), {})


def free_port():
    """A port of loopback where nothing listens, another one at each call. Never one of those that the system gives to
    outgoing connections; processes that ask side by side begin at different ports."""
    return next(port for port in _ports if _is_free(port))


def _is_free(port):
    with closing(socket.socket()) as unused, contextlib.suppress(OSError):
        unused.bind(('127.0.0.1', port))
        return True
    return False


def eventually(what, done):
    """The first true answer of `done()`; fails when there is none for a minute."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = done()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f'{what} did not happen within {PATIENCE:.0f} s')


class Program:
    """A process with its log. `python -m MODULE` of ours, or any command."""

    def __init__(self, log, *command, module=None, cwd=ROOT, **environment):
        self.log = log
        command = [sys.executable, '-W', 'ignore', '-m', module, *command] if module else command
        with log.open('a') as stream:
            self.process = subprocess.Popen(
                [str(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=stream, text=True, start_new_session=True,
                env={**os.environ, 'PYTHONPATH': str(ROOT), **environment})

    def stop(self, number=signal.SIGTERM):
        """The exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended()

    def ended(self):
        """Waits until it has; the exit code."""
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code

    def family(self):
        """The process and everything it started, workers of it too: ids."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                if os.getsid(int(pid)) == self.process.pid:
                    found.append(int(pid))
        return found

    def signal(self, number):
        """Sends it to all of them, the parent first."""
        for pid in sorted(self.family()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        """The process and everything it started, as a power cut."""
        self.signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def said(self, words):
        """Waits until the log has `words`; its lines with them."""
        def lines():
            if self.process.poll() is not None:
                raise AssertionError(f'ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}')
            return [line for line in self.log.read_text().splitlines() if words in line]
        return eventually(f'"{words}" in the log', lines)


def ask(method, url, body=None, headers=None):
    """(status, JSON or text or None)."""
    request = urllib.request.Request(
        url, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={'Content-Type': 'application/json', 'Accept': 'application/json', **login(url), **(headers or {})})
    try:
        with OPENER.open(request, timeout=PATIENCE) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text) if text else None
    except ValueError:
        return status, text.decode()


def insist(method, url, body=None):
    """The first answer that is neither broken nor 5xx, as `ask` gives it, and how many tries it took. `url()`: where to
    send the next one."""
    tries = 0

    def answer():
        nonlocal tries
        tries += 1
        try:
            status, found = ask(method, url(), body)
        except OSError:
            return None
        return None if status >= 500 else (status, found)

    status, found = eventually(f'an answer to {method}', answer)
    return status, found, tries


def answers(url):
    """Waits until somebody answers there."""
    def asked():
        try:
            return ask('GET', url)[0]
        except OSError:
            return None
    return eventually(f'an answer of {url}', asked)


def finished(stack_url):
    """Waits until the stack's action has ended; its status."""
    def status():
        found = ask('GET', stack_url)[1]['stack']['stack_status']
        return None if found.endswith('IN_PROGRESS') else found
    return eventually('the end of the action', status)
