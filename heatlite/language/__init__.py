"""language: template text -> Template -> StackDefinition -> values. Pure.

May not come in: clocks, threads, files, sockets, rows, randomness, resource classes. What types look like is handed in
(`facts.TypeCatalog`), what is not known yet is the value `Unknown`.
"""
