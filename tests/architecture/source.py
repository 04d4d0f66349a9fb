"""The source as data: files, modules and what they import."""

import ast
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = 'heatlite'


@dataclass(frozen=True)
class Import:
    """One import: who (dotted), whom (dotted), and the line."""

    importer: str
    imported: str
    line: int

    def __str__(self):
        return f'{self.importer}:{self.line} imports {self.imported}'


def module_name(path):
    parts = list(path.relative_to(ROOT).with_suffix('').parts)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def modules(under=PACKAGE):
    """Files of our package, each with its dotted name."""
    return {module_name(path): path for path in sorted((ROOT / under).rglob('*.py'))}


def imports(name, path):
    """Every import in a file, wherever it stands; relative ones made absolute."""
    found = []
    package = name if path.name == '__init__.py' else name.rpartition('.')[0]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        match node:
            case ast.Import(names=names):
                found += [Import(name, each.name, node.lineno) for each in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                base = module or ''
                if level:
                    above = package.split('.')[:len(package.split('.')) - level + 1]
                    base = '.'.join([*above, *([module] if module else [])])
                found += [Import(name, f'{base}.{each.name}', node.lineno) for each in names]
    return found


def tracked():
    """Text files that are in version control, as paths from the root; all files where there is no git."""
    done = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return [path.relative_to(ROOT) for path in ROOT.rglob('*')
                if path.is_file() and not any(part.startswith('.') for part in path.relative_to(ROOT).parts)]
    return [Path(name) for name in done.stdout.decode().split('\0') if name and (ROOT / name).is_file()]
