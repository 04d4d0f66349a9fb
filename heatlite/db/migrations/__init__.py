"""Revisions of the schema, in the order of their numbers: first expand, later contract, never both at once."""
