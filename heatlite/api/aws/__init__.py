"""api.aws: what the two APIs with AWS's protocols share: signatures, parameters, XML, error documents, layers.

Must not import the actions of either API.
"""
