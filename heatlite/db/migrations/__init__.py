"""Revisions of the schema, in the order of their numbers.

A release either expands the schema or contracts it, never both.
"""
