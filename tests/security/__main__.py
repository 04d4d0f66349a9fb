"""Writes docs/operators/api-security.rst: `python -m tests.security`."""

from tests.security import page

page.PAGE.write_text(page.written())
print(page.PAGE)
