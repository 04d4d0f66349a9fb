"""api.cloudwatch.protocols: how actions, their input and their answers are written, one module for each protocol.

Must not know any single action.
"""
