"""heatlite-manage setup: makes what the service needs in other services.

`identity` has what Keystone must have, and imports the standard library only: tools/keystone uses it, too.
"""
