"""The rules of the linter: one row for each kind of finding.

Ids are stable: a released id keeps its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from heatlite.common.i18n import _

ERROR, WARNING, NOTE = 'error', 'warning', 'note'

SYNTAX: Final = 'HL001'
VERSION: Final = 'HL002'
LIMIT: Final = 'HL003'
FILE: Final = 'HL004'
ENVIRONMENT: Final = 'HL005'
SECTION: Final = 'HL101'
PARAMETER: Final = 'HL102'
SHAPE: Final = 'HL103'
PARAMETER_VALUE: Final = 'HL104'
PARAMETER_GROUP: Final = 'HL105'
CONDITION: Final = 'HL106'
FUNCTION: Final = 'HL107'
TYPE: Final = 'HL201'
NAME: Final = 'HL202'
DUPLICATE: Final = 'HL203'
OUTPUT: Final = 'HL204'
REFERENCE: Final = 'HL205'
ATTRIBUTE: Final = 'HL206'
CYCLE: Final = 'HL207'
UNKNOWN_PROPERTY: Final = 'HL301'
MISSING_PROPERTY: Final = 'HL302'
PROPERTY_VALUE: Final = 'HL303'
POLICY: Final = 'HL304'
OWN_CHECK: Final = 'HL305'
REPEATED_KEY: Final = 'HL501'
NO_FUNCTION: Final = 'HL502'
SEVERAL_FUNCTIONS: Final = 'HL503'
IGNORED_KEY: Final = 'HL504'
OUTPUT_REFERENCE: Final = 'HL505'
METADATA: Final = 'HL506'
REGISTRY_ORDER: Final = 'HL507'
UNUSED_PARAMETER: Final = 'HL508'
CONSTANT_CONDITION: Final = 'HL509'
UNUSED_CONDITION: Final = 'HL510'
SUPPRESSION: Final = 'HL511'
UNDECLARED_PARAMETER: Final = 'HL512'
UNDECLARED_CONDITION: Final = 'HL513'
CLOUD: Final = 'HL901'
NO_VALUE: Final = 'HL902'


@dataclass(frozen=True)
class LintRule:
    """One kind of finding. `level`: an error is refused by the service, a warning is accepted, a note needs more."""

    id: str
    level: str
    title: str


TABLE: Final = tuple(LintRule(*row) for row in (
    (SYNTAX, ERROR, _('The text is not a template')),
    (VERSION, ERROR, _('The version of the template is unknown')),
    (LIMIT, ERROR, _('The template exceeds a limit')),
    (FILE, ERROR, _('A file or nested template cannot be read')),
    (ENVIRONMENT, ERROR, _('The environment is invalid')),
    (SECTION, ERROR, _('A section is unknown or has the wrong form')),
    (PARAMETER, ERROR, _('The definition of a parameter is invalid')),
    (SHAPE, ERROR, _('A resource has the wrong form')),
    (PARAMETER_VALUE, ERROR, _('The value of a parameter is invalid')),
    (PARAMETER_GROUP, ERROR, _('A parameter group is invalid')),
    (CONDITION, ERROR, _('A condition is invalid')),
    (FUNCTION, ERROR, _('A function is used incorrectly')),
    (TYPE, ERROR, _('The resource type is unknown or cannot be used')),
    (NAME, ERROR, _('The name of a resource is invalid')),
    (DUPLICATE, ERROR, _('A parameter and a resource have the same name')),
    (OUTPUT, ERROR, _('An output has the wrong form')),
    (REFERENCE, ERROR, _('A reference names no resource')),
    (ATTRIBUTE, ERROR, _('A resource does not have the attribute')),
    (CYCLE, ERROR, _('Resources depend on each other in a cycle')),
    (UNKNOWN_PROPERTY, ERROR, _('The type does not have the property')),
    (MISSING_PROPERTY, ERROR, _('A required property is missing')),
    (PROPERTY_VALUE, ERROR, _('The value of a property is invalid')),
    (POLICY, ERROR, _('The type does not support the policy')),
    (OWN_CHECK, ERROR, _('The type refuses the combination of properties')),
    (REPEATED_KEY, WARNING, _('A key is repeated')),
    (NO_FUNCTION, WARNING, _('A map looks like a function but is data')),
    (SEVERAL_FUNCTIONS, WARNING, _('A map with several functions is data')),
    (IGNORED_KEY, WARNING, _('A key has no effect')),
    (OUTPUT_REFERENCE, WARNING, _('An output refers to a resource that does not exist')),
    (METADATA, WARNING, _('The metadata cannot be evaluated')),
    (REGISTRY_ORDER, WARNING, _('A registry entry is hidden by a wildcard')),
    (UNUSED_PARAMETER, WARNING, _('A parameter is not used')),
    (CONSTANT_CONDITION, WARNING, _('A condition always has the same value')),
    (UNUSED_CONDITION, WARNING, _('A condition is not used')),
    (SUPPRESSION, WARNING, _('A comment disables an unknown rule')),
    (UNDECLARED_PARAMETER, WARNING, _('A parameter is not declared')),
    (UNDECLARED_CONDITION, WARNING, _('A condition is not declared')),
    (CLOUD, NOTE, _('Only the cloud can check the value')),
    (NO_VALUE, NOTE, _('A parameter needs a value when the stack is created')),
))
BY_ID: Final = {rule.id: rule for rule in TABLE}
