"""What a property's value must satisfy: the public names for plug-in authors."""

from __future__ import annotations

from heatlite.common.exception import InvalidSchemaError
from heatlite.language.constraints import (
    AllowedPattern,
    AllowedValues,
    BaseCustomConstraint,
    Constraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)
from heatlite.language.schema import Schema

AnyIndexDict = dict                         # a name old plug-ins import; nothing of ours uses it

__all__ = ['AllowedPattern', 'AllowedValues', 'AnyIndexDict', 'BaseCustomConstraint', 'Constraint',
           'CustomConstraint', 'InvalidSchemaError', 'Length', 'Modulo', 'Range', 'Schema']
