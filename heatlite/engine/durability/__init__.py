"""Keeps what must survive a crash: the lease of each stack, the journal of its changes, timers and the thread pool.

Must not import any other package of the engine.
"""
