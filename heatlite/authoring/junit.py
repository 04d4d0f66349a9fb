"""Writes results of template tests as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as tree

from heatlite.authoring.running import SuiteResult


def document(results: Sequence[SuiteResult]) -> str:
    """One `testsuite` for each file, one `testcase` for each test."""
    root = tree.Element('testsuites')
    for file in dict.fromkeys(result.suite.file for result in results):
        of_file = [result for result in results if result.suite.file == file]
        suite = tree.SubElement(root, 'testsuite', {
            'name': file, 'tests': str(len(of_file)), 'errors': '0', 'skipped': '0',
            'failures': str(sum(bool(result.failures) for result in of_file)),
            'time': f'{sum(result.seconds for result in of_file):.3f}'})
        for result in of_file:
            line = result.suite.place(result.case.path).rsplit(':', 2)[1]
            case = tree.SubElement(suite, 'testcase', {
                'name': result.case.name, 'classname': file, 'file': file, 'line': line,
                'time': f'{result.seconds:.3f}'})
            if result.failures:
                failure = tree.SubElement(case, 'failure', {'message': result.failures[0].text})
                failure.text = '\n'.join(map(str, result.failures))
    tree.indent(root)
    return tree.tostring(root, encoding='unicode', xml_declaration=True) + '\n'
