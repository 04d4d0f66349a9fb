"""Pages for users name the ports that they use: by default those of the signed APIs are any that are free."""

import re

import pytest

from heatlite.common import options
from tests.system.processes import ROOT

PAGES = ROOT / 'docs/users'
SERVE = re.compile(r'make serve\s+SERVE=(["\'])(?P<words>.*?)\1', re.DOTALL)
PORTS = {'--cfn-port': 'heat_api_cfn', '--cloudwatch-port': 'heat_api_cloudwatch'}


def port(group):
    return next(opt.default for opt in options.GROUPS[group] if opt.dest == 'bind_port')


@pytest.mark.parametrize('option', PORTS)
def test_pages_use_the_signed_apis(option):
    assert any(f'127.0.0.1:{port(PORTS[option])}' in page.read_text() for page in PAGES.glob('*.rst'))


@pytest.mark.parametrize('page', sorted(PAGES.glob('*.rst')), ids=lambda page: page.stem)
@pytest.mark.parametrize('option', PORTS)
def test_a_page_that_uses_a_signed_api_here_starts_it_at_that_port(option, page):
    text, number = page.read_text(), port(PORTS[option])
    if f'127.0.0.1:{number}' not in text:
        return
    starts = [found['words'] for found in SERVE.finditer(text) if '--auth keystone' in found['words']]
    assert starts and all(f'{option} {number}' in words for words in starts), starts
