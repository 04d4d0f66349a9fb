"""Takes the stacks of a Heat over: reads Heat's database, converts its rows, stores them as heatlite's own.

`schema` and `ciphers` hold the facts about Heat's database, `source` reads it, `convert` makes rows of ours from rows
of Heat's, `completion` adds what only the types and the template language know, `store` writes whole trees, `transfer`
does it slice by slice and reports. Nothing here writes to Heat's database or to a cloud.

Must not import the API: a program without one takes over.
"""
