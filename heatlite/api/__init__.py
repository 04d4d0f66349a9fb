"""api: the REST and CloudFormation APIs. Reads come from heatlite.db; each change is one message to an engine.

Must not contain SQL, engine code or decisions about stacks.
"""
