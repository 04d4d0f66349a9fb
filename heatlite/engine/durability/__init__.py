"""Makes state survive crashes: leases of stacks and the journal of changes; also timers and the thread pool.

Must not import any other package of the engine.
"""
