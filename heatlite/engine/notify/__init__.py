"""Tells others about changes of stacks: event sinks, and notifications on the bus.

Must not import `reconcile` or `requests`.
"""
