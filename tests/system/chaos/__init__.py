"""Faults of a whole cluster: engines die, stand still and are replaced, brokers and databases are killed and restarted.

Meanwhile users create, update and delete stacks. In the end nothing may be lost, stuck, or made twice, and no answer
may have been older than what was accepted before.
"""
