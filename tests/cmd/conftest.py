"""Fixtures of tests that load plug-ins of an operator."""

from tests.plugins.conftest import plugin_folders

__all__ = ['plugin_folders']
