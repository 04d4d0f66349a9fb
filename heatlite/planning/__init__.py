"""Decides what happens next, from values alone.

Must not import clocks, threads, rows, RPC or clients: return a command instead.
"""
