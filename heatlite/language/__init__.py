"""language: template text -> Template -> StackDefinition -> values. Pure.

Must not import clocks, threads, files, sockets, rows, randomness or resource classes. Facts of resource types are
passed in (`facts.TypeCatalog`); a value that is not known yet is `Unknown`.
"""
