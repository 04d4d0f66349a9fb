"""Finds, loads and describes resource types, constraints and plug-ins.

Must not import `notify`, `reconcile` or `requests`.
"""
