"""api.handlers: one file per noun, one function per method of a URL: parse, ask, call, render.

May not come in: policy, error documents, JSON encoding - the decorator does them.
"""
