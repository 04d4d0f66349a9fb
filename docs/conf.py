"""Configures Sphinx (`make docs`). Links between pages name the .rst file, so that they work on a forge, too."""

from __future__ import annotations

import posixpath
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOG = logging.getLogger(__name__)

sys.path.insert(0, str(Path(__file__).parent))

project = 'heatlite'
author = 'the heatlite authors'
extensions = ['api_reference', 'type_reference', 'program_help', 'reno.sphinxext']
html_theme = 'alabaster'
html_theme_options = {'description': 'Orchestration for OpenStack-style clouds', 'page_width': '72rem',
                      'sidebar_width': '15rem', 'fixed_sidebar': True}
html_static_path = ['static']
html_css_files = ['types.css']
html_show_sourcelink = False
exclude_patterns = ['users/broken', 'users/horizon']
# The manual pages have the folder of the programs as source: sphinx-build -b man -c docs docs/operators/programs ...
man_pages = [(name, name, what, 'the heatlite authors', section) for name, what, section in (
    ('cloudsim', 'a simulated OpenStack on loopback', 1),
    ('heatlite-all', 'heatlite in one process', 8),
    ('heatlite-api', 'the REST API of heatlite', 8),
    ('heatlite-api-cfn', 'the CloudFormation API of heatlite', 8),
    ('heatlite-api-cloudwatch', 'the CloudWatch API of heatlite', 8),
    ('heatlite-engine', 'the engine of heatlite', 8),
    ('heatlite-language-server', 'answers what editors ask about templates', 1),
    ('heatlite-lint', 'finds errors of templates without a service', 1),
    ('heatlite-manage', 'commands for operators of heatlite', 8),
    ('heatlite-test', 'tests of templates against a simulated cloud', 1),
)]
suppress_warnings = ['misc.highlighting_failure']         # pages about broken templates show some


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Points each link to another .rst file at the page made of it. A file that does not exist is a warning."""
    here = Path(app.srcdir) / docname
    for node in doctree.findall(nodes.reference):
        path, _hash, anchor = str(node.get('refuri', '')).partition('#')
        if not path or '://' in path or path.startswith('mailto:'):
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(docname), path.removesuffix('.rst')))
        if path.endswith('.rst') and target in app.env.found_docs:
            node['refuri'] = app.builder.get_relative_uri(docname, target) + (f'#{anchor}' if anchor else '')
        elif not (here.parent / path).exists():
            LOG.warning('there is no %s', path, location=node)


def setup(app: Sphinx) -> None:
    app.connect('doctree-resolved', link)
