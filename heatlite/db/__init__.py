"""db: rows and the statements on them, one file per noun.

Must not make decisions. Statements take the transaction of their caller and return values; they never open, commit or
retry.
"""
