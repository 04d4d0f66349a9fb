"""Operators may restrict the microversions of services, with the options that Heat has for it."""

import pytest
from oslo_config import cfg


@pytest.fixture
def restricted(cloud):
    """`restricted('nova', '2.60')` -> the client plug-in, under that option."""
    def plugin(name, most):
        cfg.CONF.set_override(f'max_{name}_api_microversion', most)
        return cloud.plugin(name)
    yield plugin
    for name in ('nova', 'ironic'):
        cfg.CONF.clear_override(f'max_{name}_api_microversion')


@pytest.mark.parametrize('name, most, before, after', [
    ('nova', '2.60', '2.60', '2.61'), ('nova', '2.9', '2.9', '2.10'), ('ironic', '1.31', '1.31', '1.32')])
def test_no_newer_one_is_used(restricted, name, most, before, after):
    found = restricted(name, most)
    assert found.get_max_microversion() == most
    assert (found.is_version_supported(before), found.is_version_supported(after)) == (True, False)


def test_one_that_the_service_does_not_have_is_no_promise(restricted):
    assert restricted('nova', '2.999').get_max_microversion() == restricted('nova', None).get_max_microversion()
