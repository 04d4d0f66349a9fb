"""rpc: the messages between API and engine, and the two ends of the wire.

May not come in: what a message means. A message carries ids and
what the user sent, never news that only it knows.
"""
