"""cmd: the doors. Read options, build the parts, hand them to each other, run.

The only files that see every room. May not come in: decisions of any kind.
"""
