"""The functions of the template language, one class each; `language.versions` maps versions to functions.

The first line of a class's docstring is its public description.
"""
