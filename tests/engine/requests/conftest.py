"""The registry with built-in types and the folders of plug-ins, as the tests of plug-ins have them."""

from tests.plugins.conftest import plugin_folders, runtime, types, vendors

__all__ = ['plugin_folders', 'runtime', 'types', 'vendors']
