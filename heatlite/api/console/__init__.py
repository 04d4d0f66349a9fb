"""The web console: files that were built from console/, and the way of a browser to Keystone.

Must not contain anything about stacks: the console uses the public REST API like any other client.
"""
