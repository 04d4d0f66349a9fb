"""api.middleware: the layers that `api.deploy` lists, one file per layer.

Must not know single routes.
"""
