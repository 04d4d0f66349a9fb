"""Checks of what operators add: resource types, extensions of packages, environments, access rules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from heatlite.cmd import check_config
from heatlite.cmd import plugins as command
from heatlite.cmd.doctor.checks import FAILED, WARNING, Check, DoctorFinding
from heatlite.cmd.doctor.files import is_default
from heatlite.cmd.doctor.site import Site
from heatlite.common import exception, policy_files
from heatlite.common import policy as rules
from heatlite.common.i18n import _

MODULE = '.py'


def plugin_modules(site: Site) -> Iterator[DoctorFinding]:
    """Load the modules and environments as an engine does."""
    from heatlite.engine.types import registry
    if not is_default(site, 'plugin_dirs'):
        for folder in site.conf.plugin_dirs:
            if not os.path.isdir(folder):
                yield DoctorFinding(_('Each folder of [DEFAULT] plugin_dirs exists.'), _('There is no %s.') % folder,
                                    _('Correct [DEFAULT] plugin_dirs, or: mkdir -p %s') % folder, WARNING)
    with command.silence():
        types = registry.create(site.conf)
        types.load_plugins()
    for failure in types.plugins.failures:
        is_module = failure.file.endswith(MODULE)
        yield DoctorFinding(
            _('All modules of [DEFAULT] plugin_dirs can be loaded.') if is_module else
            _('All files of [DEFAULT] environment_dir can be read.'), str(failure),
            _('Correct the file, or remove it; heatlite-manage plugins shows the same.'))
    for warning in types.plugins.warnings:
        yield DoctorFinding(_('All names in the modules of [DEFAULT] plugin_dirs are those of the contract.'),
                            f'{warning.file}: {warning.text}', _('Correct the name in the module.'), WARNING)


def namespaces(site: Site) -> Iterator[DoctorFinding]:
    with command.silence():
        rows = list(command.extensions())
    for name, place, _types, error in rows:
        if error:
            yield DoctorFinding(_('All extensions of installed packages can be loaded.'), f'{name} ({place}): {error}',
                                _('Install a version of the package that fits, or remove the package.'))


# --- access rules -----------------------------------------------------------------------------------------

def access_rules(site: Site) -> Iterator[DoctorFinding]:
    given = site.conf.oslo_policy.policy_file
    if given and given != rules.FILE and not site.conf.find_file(given):
        yield DoctorFinding(_('The file of [oslo_policy] policy_file exists.'), _('There is no %s.') % given,
                            _('Correct [oslo_policy] policy_file, or make the file; it may be empty.'))
    try:
        files = policy_files.paths(site.conf)
    except exception.Error as error:
        yield DoctorFinding(_('The folders of [oslo_policy] policy_dirs can be read.'), str(error),
                            _('Let the user of the service list and read the folder.'))
        return
    for file in files:
        yield from policy_problems(file)


def policy_problems(file: Path) -> Iterator[DoctorFinding]:
    expected = {check_config.ERROR: _('The access rules in %s can be read.') % file,
                check_config.WARNING: _('All rules in %s are rules of this service.') % file}
    try:
        for each in check_config.wrong_rules(file):
            yield DoctorFinding(expected[each.level], each.text, each.fix,
                                FAILED if each.level == check_config.ERROR else WARNING)
    except exception.Error as error:
        yield DoctorFinding(expected[check_config.ERROR], str(error),
                            _('Correct the file: each line is NAME: "RULE"; docs/operators/policy.rst has the rules.'))


CHECKS = (
    Check('plug-ins', _('plug-ins of plugin_dirs and environments of environment_dir can be loaded'), plugin_modules),
    Check('extensions', _('extensions of installed packages can be loaded'), namespaces),
    Check('policy', _('access rules can be read'), access_rules),
)
