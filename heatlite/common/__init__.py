"""common: what every package needs - errors, options, identifiers, the clock and threads.

Must not know what a stack, a resource type or a route is beyond its name.
"""
