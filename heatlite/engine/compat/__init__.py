"""Lets code that was written for Heat run: its module names, the names of former years, and installed extensions.

Must not import anything else of the engine at the top of a module: names are looked up when a plug-in uses them.
"""
