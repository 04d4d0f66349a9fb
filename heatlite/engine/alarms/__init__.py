"""Stores metrics, evaluates alarms, sends what follows from them, and removes old data.

Must not import `requests`: what a user asks for comes from there.
"""
