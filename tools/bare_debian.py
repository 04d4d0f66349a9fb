"""Installs the Debian package on a bare Debian and checks it, as root: `bare_debian.py PACKAGE.deb --root FOLDER`.

The Debian is a folder that mmdebstrap fills (`apt install mmdebstrap`), of the release of this machine. Its programs
run with `chroot` in namespaces of their own, and without a network once the package is installed: ports, mounts and
processes of the machine are not touched. There is no systemd in it that runs: units are verified, and the program of
heatlite-all.service is started with the user, the umask and the command line of the unit. The folder is kept; a folder
in which the package is not installed is used again. Exit code: 0 if all checks passed.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

HERE = pathlib.Path(__file__).resolve().parent
NAME = 'heatlite'
TOOLS = ('bash-completion', 'iproute2', 'logrotate', 'man-db', 'mandoc', 'systemd')
EXPOSURE = 1.5                      # of systemd-analyze security, at most
EXAMPLE = f'/usr/share/doc/{NAME}/examples/hello.yaml'
CONFIGURATION = f'/etc/{NAME}/{NAME}.conf'
DATABASE = f'/var/lib/{NAME}/{NAME}.sqlite'
# Path -> user, group and mode, as in packages.rst.
OWNERS = {
    f'/etc/{NAME}': ('root', NAME, '750'),
    CONFIGURATION: ('root', NAME, '640'),
    f'/var/lib/{NAME}': (NAME, NAME, '750'),
    f'/var/log/{NAME}': (NAME, 'adm', '2750'),
    f'/var/log/{NAME}/audit': (NAME, 'adm', '2750'),
}
# What Debian's own tools change when any package comes and goes.
OF_DEBIAN = re.compile(
    r'/(dev|proc|sys|run|tmp|var/(cache|lib/(dpkg|apt|systemd|logrotate)|log/(apt|dpkg\.log|alternatives))'
    r'|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$)')
# Modules that are loaded by their names, beside all of heatlite.
BY_NAME = ('keystonemiddleware.auth_token', 'oslo_messaging._drivers.impl_rabbit', 'psycopg2', 'pymysql')


class Failed(Exception):
    """A check did not find what it should; the text says what it found."""


class Debian:
    """The folder with the Debian, whose commands run by `run`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def run(self, command: str, stdin: bytes = b'', network: bool = False, code: int | None = 0) -> str:
        """Both outputs of a command of the shell in it. Raises Failed if it ends with another code; None: any."""
        inside = ['unshare', '--mount', '--pid', '--fork', '--kill-child', *([] if network else ['--net']), 'sh', '-c',
                  'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /bin/sh -c "$1"',
                  str(self.folder), ('' if network else 'ip link set lo up; ') + f'cd /; {command}']
        done = subprocess.run(inside, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, env={
            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND': 'noninteractive', 'LC_ALL': 'C.UTF-8',
            'HOME': '/root'})
        text = done.stdout.decode(errors='replace')
        if code is not None and done.returncode != code:
            raise Failed(f'{command}: code {done.returncode}\n{text[-3000:]}')
        return text

    def files(self) -> set[str]:
        """The paths of all files and folders that Debian's own tools do not change."""
        return {path for path in self.run('find / -xdev').splitlines() if not OF_DEBIAN.match(path)}

    def read(self, path: str) -> str:
        return (self.folder / path.lstrip('/')).read_text(encoding='utf-8')


def main(arguments: list[str]) -> int:
    given = options().parse_args(arguments)
    folder: pathlib.Path = given.root.resolve()
    debian, package = Debian(folder), given.package.resolve()
    if not (folder / 'var/lib/dpkg/status').exists():
        measured('bare Debian', lambda: bootstrap(folder))
    measured('packages that it needs', lambda: requirements(debian, package))
    target = folder / 'srv' / package.name
    target.write_bytes(package.read_bytes())
    before, began = debian.files(), time.monotonic()
    measured('dpkg -i', lambda: debian.run(f'dpkg -i /srv/{package.name}'))
    made = debian.files()
    stack = measured('first stack', lambda: first_stack(debian))
    print(f'{"from dpkg -i to CREATE_COMPLETE":<34} {time.monotonic() - began:6.1f} s   {stack}')
    failures = [name for name, check in CHECKS.items() if not passed(name, functools.partial(check, debian))]
    if not passed('programs write nothing below /usr', lambda: same(
            {path for path in made if path.startswith('/usr/')},
            {path for path in debian.files() if path.startswith('/usr/')})):
        failures.append('usr')
    for name, act in (('a reinstallation keeps what was changed', lambda: reinstalled(debian, f'/srv/{package.name}')),
                      ('dpkg -r keeps configuration and data', lambda: removed(debian)),
                      ('dpkg -P leaves nothing', lambda: purged(debian, before))):
        if not passed(name, act):
            failures.append(name)
    print(f'{len(failures)} checks failed')
    return 1 if failures else 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description='Installs the Debian package on a bare Debian and checks it.')
    parser.add_argument('package', type=pathlib.Path, metavar='PACKAGE.deb')
    parser.add_argument('--root', type=pathlib.Path, metavar='FOLDER', required=True)
    return parser


def measured(name: str, act: Callable[[], str]) -> str:
    began = time.monotonic()
    said = act()
    print(f'{name:<34} {time.monotonic() - began:6.1f} s', flush=True)
    return said


def passed(name: str, check: Callable[[], str]) -> bool:
    try:
        said = check()
    except Failed as failure:
        print(f'FAILED  {name}: {failure}', flush=True)
        return False
    print(f'ok      {name}{": " + said if said else ""}', flush=True)
    return True


def same(wanted: object, found: object) -> str:
    if wanted != found:
        both = isinstance(wanted, set) and isinstance(found, set)
        raise Failed(f'wanted {sorted(wanted - found)}, found {sorted(found - wanted)}' if both     # type: ignore[operator]
                     else f'wanted {wanted}, found {found}')
    return ''


# --- steps ---------------------------------------------------------------------------------------------

def bootstrap(folder: pathlib.Path) -> str:
    release = re.search(r'^VERSION_CODENAME=(.*)$', pathlib.Path('/etc/os-release').read_text(), re.M)
    subprocess.run(['mmdebstrap', '-q', '--variant=apt', '--include=ca-certificates',
                    release[1] if release else 'stable', str(folder)], check=True)
    return ''


def requirements(debian: Debian, package: pathlib.Path) -> str:
    wanted = subprocess.run(['dpkg-deb', '--field', str(package), 'Depends'], stdout=subprocess.PIPE, text=True,
                            check=True)
    return debian.run('apt-get -q update && apt-get -q satisfy -y --no-install-recommends '
                      f'{shlex.quote(wanted.stdout.strip())} && apt-get -q install -y --no-install-recommends '
                      + ' '.join(TOOLS), network=True)


def first_stack(debian: Debian) -> str:
    """Starts the command of the unit as the unit does, with a simulated cloud."""
    unit = debian.read(f'/lib/systemd/system/{NAME}-all.service')
    command = re.search(r'^ExecStart=(.*)$', unit, re.M)
    assert command
    line = command[1].replace('$OPTIONS', '--port 0 --cloud simulated')
    script = (HERE / 'first_stack.py').read_bytes()
    return debian.run(f'umask 0077; install -d -o {NAME} -g {NAME} /run/{NAME}; cat > /tmp/first_stack.py; '
                      f'chmod 644 /tmp/first_stack.py; exec {as_user()} python3 /tmp/first_stack.py {EXAMPLE} {line}',
                      script).strip().splitlines()[-1]


def as_user() -> str:
    return f'setpriv --reuid {NAME} --regid {NAME} --init-groups --no-new-privs --bounding-set=-all'


# --- checks of what is installed -----------------------------------------------------------------------

def user(debian: Debian) -> str:
    _name, _x, _uid, _gid, _gecos, home, shell = debian.run(f'getent passwd {NAME}').strip().split(':')
    return same((f'/var/lib/{NAME}', '/usr/sbin/nologin'), (home, shell)) or debian.run(f'id {NAME}').strip()


def owners(debian: Debian) -> str:
    found = {path: tuple(debian.run(f'stat -c "%U %G %a" {path}').split()) for path in OWNERS}
    # What the service has written is for its user only.
    others = debian.run(f'find /var/lib/{NAME} /var/log/{NAME} -type f -perm /077')
    return same(OWNERS, found) or same('', others)


def units(debian: Debian) -> str:
    names = sorted(path.name for path in (debian.folder / 'lib/systemd/system').glob(f'{NAME}-*.service'))
    found = {}
    for name in names:
        said = debian.run(f'systemd-analyze verify --man=yes {name} 2>&1')
        about = [line for line in said.splitlines() if NAME in line]
        same([], about)
        exposure = re.search(r'Overall exposure level for \S+: ([\d.]+)', debian.run(
            f'systemd-analyze security --offline=yes --no-pager {name}'))
        assert exposure
        found[name] = float(exposure[1])
    if not found or max(found.values()) > EXPOSURE:
        raise Failed(str(found))
    return same('', debian.run(f'find /etc/systemd -name "{NAME}*"')) or f'{len(found)}, exposure {max(found.values())}'


def rotation(debian: Debian) -> str:
    said = debian.run(f'logrotate -d /etc/logrotate.d/{NAME} 2>&1')
    if 'error' in said:
        raise Failed(said)
    debian.run(f'{as_user()} sh -c "umask 0077; echo line > /var/log/{NAME}/engine.log"; '
               f'logrotate --force /etc/logrotate.d/{NAME}')
    found = debian.run(f'stat -c "%n %U %a %s" /var/log/{NAME}/*.log*').split('\n')
    return same([f'/var/log/{NAME}/engine.log {NAME} 600 0', f'/var/log/{NAME}/engine.log.1 {NAME} 600 5', ''], found)


def manuals(debian: Debian) -> str:
    pages = sorted(path for path in (debian.folder / 'usr/share/man').rglob(f'{NAME}*.gz'))
    named = {page.name.split('.')[0] for page in pages}
    same(set(), {path.name for path in programs(debian)} - named - {'cloudsim'})
    for page in pages:
        inside = '/' + str(page.relative_to(debian.folder))
        debian.run(f'mandoc -T lint -W error {inside} && man -l {inside} > /dev/null')
    return f'{len(pages)}'


def completion(debian: Debian) -> str:
    script = (f'. /usr/share/bash-completion/completions/{NAME}-manage; COMP_WORDS=({NAME}-manage do); COMP_CWORD=1; '
              f'_{NAME}_manage; echo "${{COMPREPLY[@]}}"')
    return same('doctor\n', debian.run(f'bash -c {shlex.quote(script)}'))


def programs(debian: Debian) -> Iterator[pathlib.Path]:
    yield from sorted((debian.folder / 'usr/bin').glob(f'{NAME}-*'))
    yield debian.folder / 'usr/bin/cloudsim'


def started(debian: Debian) -> str:
    found = list(programs(debian))
    for path in found:
        said = debian.run(f'{as_user()} {path.name} --help')
        if not said.startswith(f'usage: {path.name}'):
            raise Failed(said)
    return f'{len(found)}'


def modules(debian: Debian) -> str:
    """What is left out - tests of the Python packages - is left out, and needed by nothing."""
    same('', debian.run(f'find /usr/lib/{NAME}/lib/python3*/site-packages -type d \\( -name tests -o -name test \\) '
                        f'! -path "*/site-packages/{NAME}/*"'))
    script = f"""
import importlib, json, pkgutil, {NAME}
wrong = []
for each in [each.name for each in pkgutil.walk_packages({NAME}.__path__, '{NAME}.')] + {list(BY_NAME)}:
    # Of extras for machines of users and of authors of plug-ins; and what only alembic executes.
    if each.startswith(('{NAME}.osc', '{NAME}.testing.pytest_plugin', '{NAME}.db.migrations.env')):
        continue
    if each.endswith('__main__'):
        continue
    try:
        importlib.import_module(each)
    except BaseException as error:
        wrong.append(f'{{each}}: {{error!r}}')
print(json.dumps(wrong))"""
    wrong = json.loads(debian.run(
        f'{as_user()} /usr/lib/{NAME}/bin/python3 -W ignore -c {shlex.quote(script)}').splitlines()[-1])
    return same([], wrong)


def tools(debian: Debian) -> str:
    debian.run(f'{as_user()} {NAME}-lint {EXAMPLE}')
    debian.run(f'{as_user()} {NAME}-manage --config-file {CONFIGURATION} check-config', code=None)
    return ''


CHECKS: dict[str, Callable[[Debian], str]] = {
    'user': user,
    'folders and files, their owners and modes': owners,
    'units': units,
    'logrotate': rotation,
    'manual pages': manuals,
    'completion': completion,
    'programs start as the user': started,
    'modules can be imported': modules,
    'the linter accepts the example': tools,
}


# --- what happens to it later --------------------------------------------------------------------------

def reinstalled(debian: Debian, package: str) -> str:
    debian.run(f'echo "# changed" >> {CONFIGURATION}; chmod 0600 {CONFIGURATION}; chown {NAME} {CONFIGURATION}')
    debian.run(f'dpkg --force-confold -i {package}')
    same((NAME, '600'), tuple(debian.run(f'stat -c "%U %a" {CONFIGURATION}').split()))
    return same(True, debian.read(CONFIGURATION).endswith('# changed\n'))


def removed(debian: Debian) -> str:
    debian.run(f'dpkg -r {NAME}')
    kept = [path for path in (CONFIGURATION, DATABASE, f'/etc/{NAME}/environment.d/default.yaml')
            if (debian.folder / path.lstrip('/')).exists()]
    left = debian.run(f'ls -d /usr/lib/{NAME} /usr/bin/{NAME}-* /lib/systemd/system/{NAME}-* 2> /dev/null', code=None)
    return same(3, len(kept)) or same('', left)


def purged(debian: Debian, before: set[str]) -> str:
    debian.run(f'dpkg -P {NAME}')
    same('', debian.run(f'getent passwd {NAME}; getent group {NAME}', code=None))
    return same(set(), debian.files() - before)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
