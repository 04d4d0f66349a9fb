"""The shell around planning: owns stacks, executes steps, hosts plug-ins.

Must not handle HTTP requests and answers of the API, nor take a decision that planning could take.
"""
