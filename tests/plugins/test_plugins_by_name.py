"""The names by which the type checker knows client plug-ins are those of the table of built-in ones."""

import typing

import pytest

from heatlite.engine.clients import BUILT_IN
from heatlite.engine.resource import Resource


def declared(function):
    """name -> class, as the signatures of `function` say."""
    found = {}
    for variant in typing.get_overloads(function):
        name, kind = variant.__annotations__['name'], variant.__annotations__['return']
        if name.startswith('Literal['):
            found[name.removeprefix("Literal['").removesuffix("']")] = kind
    return found


@pytest.mark.parametrize('name', sorted(BUILT_IN))
def test_each_plugin_has_its_class(name):
    assert declared(Resource.client_plugin).get(name) == BUILT_IN[name].partition(':')[2]


def test_no_other_name_is_known():
    assert declared(Resource.client_plugin).keys() == BUILT_IN.keys()
