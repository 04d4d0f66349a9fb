"""rpc: the messages between API and engine, and both ends of the connection.

Must not interpret messages. A message carries ids and what the user sent, never facts that are stored nowhere else.
"""
