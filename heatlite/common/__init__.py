"""common: what every room needs - errors, options, identifiers, the clock and the threads we hand out.

May not come in: anything that knows what a stack, a resource type or a route is beyond its name.
"""
