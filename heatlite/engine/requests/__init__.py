"""Serves the requests of the API: one module for each noun, and what they share.

Must not be imported by any other package of the engine.
"""
