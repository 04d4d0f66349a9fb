"""api.middleware: the layers of the onion that `api.deploy` lists, one file per layer.

May not come in: anything about one route.
"""
