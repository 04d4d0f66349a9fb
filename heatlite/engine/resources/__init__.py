"""engine.resources: the resource types, one file per type or tight family.

Types import only each other and what plug-in authors may import. They must not use rows, journals or loops.
"""
