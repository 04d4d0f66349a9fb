"""engine: the shell around planning. Owns stacks, runs steps, hosts plug-ins.

May not come in: HTTP requests and answers of our API, and any decision that planning could take.
"""
