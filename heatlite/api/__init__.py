"""api: HTTP in, JSON out. Reads come from heatlite.db; changes leave as one message.

May not come in: SQL, engine code, decisions about stacks.
"""
