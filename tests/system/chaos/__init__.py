"""Bad weather over a whole cluster: engines die, stand still and are replaced, the broker and the database restart.

Meanwhile users create, update and delete stacks. In the end nothing may be lost, stuck, or made twice.
"""
