"""A new plug-in to begin with: written so that it passes the kit as it is."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

FOLDER = Path(__file__).with_name('skeleton')
FILES = {                                   # in the new folder -> ours
    '{module}.py': 'module', '{module}.conformance.yaml': 'conformance', 'tests/{module}_service.py': 'service',
    'README.rst': 'readme', 'template.yaml': 'template'}
NAMESPACE = 'Example'                       # of types whose author names none
NAME = re.compile(r'[A-Za-z]\w*(::[A-Za-z]\w*)*')


class SkeletonError(Exception):
    """It cannot be written; the text says why."""


def write(name: str, folder: Path | None = None) -> list[Path]:
    """Return the files written. `name`: of the type, such as Acme::Lamp; `folder`: default, one of the module's name
    here."""
    if not NAME.fullmatch(name):
        raise SkeletonError(f'{name} is no name for a type; Acme::Lamp would be one')
    last = name.rpartition('::')[2]
    module = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', last).lower()
    kind = name if '::' in name else f'{NAMESPACE}::{last[0].upper()}{last[1:]}'
    said = {'type': kind, 'module': module, 'class_name': f'{last[0].upper()}{last[1:]}', 'underline': '=' * len(kind)}
    folder = folder or Path(module)
    files = {folder / place.format(module=module): source for place, source in FILES.items()}
    there = next((file for file in files if file.exists()), None)
    if there is not None:
        raise SkeletonError(f'{there} is there already')
    for file, source in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(Template((FOLDER / f'{source}.skeleton').read_text(encoding='utf-8')).substitute(said),
                        encoding='utf-8')
    return list(files)
