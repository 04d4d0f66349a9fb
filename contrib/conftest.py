"""What `make test` leaves out is said once, in tests/conftest.py; a hook there is not asked about tests beside it."""

from tests.conftest import pytest_itemcollected

__all__ = ('pytest_itemcollected',)
