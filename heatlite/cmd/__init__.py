"""cmd: the programs. Read options, build the parts, connect and run them.

The only files that import every package. Must not contain decisions of any kind.
"""
