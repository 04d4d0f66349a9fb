"""The functions of the template language, one class each; `language.versions` says which version has which.

The first line of a class's docstring is its public description. Texts of errors are those of the specification, 5.
"""
