"""Tools for authors of templates: checks of files, explanations of types, schemas, and what editors ask for.

Must not import the service's database, API or options, nor the simulated cloud: everything here works on files and on
the packed facts of types.
"""
