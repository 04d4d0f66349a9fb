"""The custom constraints of the service by name."""

import textwrap

from heatlite.engine.clients.os import nova
from heatlite.engine.compat import extensions
from heatlite.engine.types import constraint_classes
from tests.engine.types.test_template_extensions import distribution


def test_those_that_ask_a_service_are_classes():
    assert constraint_classes.find('nova.flavor') is nova.FlavorConstraint
    assert constraint_classes.find('nova.network') is constraint_classes.find('test_constr')


def test_those_of_the_language_are_made_for_each_use(types):
    maker = constraint_classes.find('ip_addr')
    assert maker.make() is not maker.make()
    assert types.constraint('ip_addr').validate('192.0.2.1', None)
    assert not types.constraint('ip_addr').validate('192.0.2.', None)


def test_those_of_installed_packages_are_loaded(tmp_path, monkeypatch, caplog):
    module = textwrap.dedent('''
        from heat.engine import constraints

        class Even(constraints.BaseCustomConstraint):
            pass
    ''')
    distribution(tmp_path, 'acme', '[heat.constraints]\nacme.even = acme_even:Even\nacme.bad = nowhere:Bad\n',
                 acme_even=module)
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.forget()
    try:
        assert constraint_classes.find('acme.even').__name__ == 'Even'
        assert constraint_classes.find('acme.bad') is None
        assert 'The constraint acme.bad cannot be loaded: ModuleNotFoundError' in caplog.text
        assert constraint_classes.find('acme.odd') is None
    finally:
        monkeypatch.undo()
        extensions.forget()
