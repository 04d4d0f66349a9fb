"""engine.resources.rest: types that are descriptions, and the one interpreter that runs them.

The YAML files say what each type does; `description` reads and checks them, `plans` turns one and a resource's
properties into requests. `described_resource` is the class that the engine calls; `creation`, `updating`,
`replacement`, `deletion` and `presence` (checks) are the parts of a resource's life. Must not have code for one type,
but for the short functions of `hooks`, which descriptions call by name.
"""
