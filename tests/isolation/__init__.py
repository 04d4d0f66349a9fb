"""Isolation of projects: attacks on another project, and every route with every key in the name of everybody.

`python -m tests.isolation` runs the whole matrix; the tests run a sample of it.
"""
