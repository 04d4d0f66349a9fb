"""Drives the stacks that this engine owns: from rows to a traversal, from its commands to calls of types, and back.

Must not import `requests`.
"""
