"""Reads what exists in the cloud and compares it with what is stored. Changes nothing.

Must not import `requests`: what follows from a difference is decided there.
"""
