"""Programs that others wrote for Heat and for CloudFormation, on the production profile: run by `tools/foreign`.

Each has a virtual environment of its own. What they do with heatlite is real; nothing of them is replaced or changed.
"""
