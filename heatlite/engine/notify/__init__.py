"""Publishes changes of stacks: to event sinks, and as notifications on the message bus.

Must not import `reconcile` or `requests`.
"""
