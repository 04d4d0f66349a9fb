"""Constraints on values of properties: the public names for plug-in authors."""

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

AnyIndexDict = Schema                       # what old plug-ins expect in the schema of a List: that of its items

__all__ = ['AllowedPattern', 'AllowedValues', 'AnyIndexDict', 'BaseCustomConstraint', 'Constraint',
           'CustomConstraint', 'InvalidSchemaError', 'Length', 'Modulo', 'Range', 'Schema']
