"""Serves the requests of the API: one module for each noun, and shared helpers.

Must not be imported by any other package of the engine.
"""
