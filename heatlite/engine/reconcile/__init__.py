"""Drives the stacks that this engine owns: loads them, runs their traversals, executes commands, stores results.

Must not import `requests`.
"""
