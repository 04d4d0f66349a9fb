"""db: rows and the statements on them, one file per noun.

May not come in: decisions. Statements take the transaction of their caller, return values, never open, commit or retry.
"""
