"""Runs code that was written for Heat: provides its module names, names of old releases, and installed extensions.

Must not import other engine modules at the top of a module: names are looked up when a plug-in uses them.
"""
