"""planning: what to do next, decided from values alone. Pure.

May not come in: clocks, threads, rows, RPC, clients. If you need one, return a command instead.
"""
