"""api.handlers: one file per noun, one function per method of a URL: parse, look up, call, render.

Must not contain policy, error documents or JSON encoding: `api.wsgi` and `api.rendering` do that.
"""
