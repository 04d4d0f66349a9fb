"""The versions of the language: their sections and keys, and the table of functions.

Programs hand in versions and functions of plug-ins by `extend`, before they read templates.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.template_format import VERSION_KEYS
from heatlite.language import expression
from heatlite.language.expression import Call
from heatlite.language.functions import choices, query, references, structures, texts

HOT_KEY, AWS_KEY, CFN_KEY = VERSION_KEYS

HOT_DATES = ('2013-05-23', '2014-10-16', '2015-04-30', '2015-10-15', '2016-04-08', '2016-10-14', '2017-02-24',
             '2017-09-01', '2018-03-02', '2018-08-31', '2021-04-16')
ALIASES = {'newton': '2016-10-14', 'ocata': '2017-02-24', 'pike': '2017-09-01', 'queens': '2018-03-02',
           'rocky': '2018-08-31', 'wallaby': '2021-04-16'}
AWS_DATE, CFN_DATE = '2010-09-09', '2012-12-12'

NEWTON, OCATA, QUEENS = '2016-10-14', '2017-02-24', '2018-03-02'
BOTH_CFN = (AWS_DATE, CFN_DATE)


@dataclass(frozen=True)
class FunctionVersions:
    """One row: a name, its class, and its versions. `since`..`until` (exclusive) are HOT dates, None: never.

    `refused_since`: from this HOT date on the name is known, but refused. `cfn`: dates of CFN versions.
    """

    name: str
    implementation: type[Call]
    since: str | None = '2013-05-23'
    until: str | None = None
    refused_since: str | None = None
    cfn: tuple[str, ...] = ()


class UnsupportedFunction(Call):
    """Stands for a function the version knows only to refuse."""

    __slots__ = ()

    def validate(self) -> None:
        self._refuse(expression.InvalidCall)

    def result(self, args: object, scope: expression.Scope) -> object:
        self._refuse(ValueError)

    def _refuse(self, kind: type[Exception]) -> NoReturn:
        raise kind(str(exception.InvalidTemplateVersion(
            explanation=_('The function %s is not supported in this version of HOT.') % self.name)))


FUNCTIONS: tuple[FunctionVersions, ...] = (
    # HOT, in the order in which versions from 2014-10-16 list them
    FunctionVersions('get_attr', references.GetAttrThenPath, '2013-05-23', '2014-10-16'),
    FunctionVersions('get_attr', references.GetAttrWithPath, '2014-10-16', '2015-10-15'),
    FunctionVersions('get_attr', references.GetAttr, '2015-10-15'),
    FunctionVersions('get_file', references.GetFile),
    FunctionVersions('get_param', references.GetParam),
    FunctionVersions('get_resource', references.GetResource),
    FunctionVersions('list_join', texts.Join, '2013-05-23', '2015-10-15'),
    FunctionVersions('list_join', texts.ListJoin, '2015-10-15'),
    FunctionVersions('resource_facade', references.ResourceFacade),
    FunctionVersions('str_replace', texts.StrReplaceScalars, '2013-05-23', '2015-10-15'),
    FunctionVersions('str_replace', texts.StrReplace, '2015-10-15'),
    FunctionVersions('Fn::Select', structures.Select, '2013-05-23', '2015-10-15', '2015-10-15', BOTH_CFN),
    FunctionVersions('repeat', structures.Repeat, '2015-04-30', NEWTON),
    FunctionVersions('repeat', structures.RepeatOverMaps, NEWTON, '2017-09-01'),
    FunctionVersions('repeat', structures.RepeatWithPermutations, '2017-09-01'),
    FunctionVersions('digest', texts.Digest, '2015-04-30'),
    FunctionVersions('str_split', texts.StrSplit, '2015-10-15'),
    FunctionVersions('map_merge', structures.MapMerge, '2016-04-08'),
    FunctionVersions('yaql', query.Yaql, NEWTON),
    FunctionVersions('map_replace', structures.MapReplace, NEWTON),
    FunctionVersions('if', choices.If, NEWTON, '2021-04-16'),
    FunctionVersions('if', choices.IfOrNothing, '2021-04-16'),
    FunctionVersions('filter', structures.Filter, OCATA),
    FunctionVersions('str_replace_strict', texts.StrReplaceStrict, OCATA),
    FunctionVersions('make_url', texts.MakeUrl, '2017-09-01'),
    FunctionVersions('list_concat', structures.ListConcat, '2017-09-01'),
    FunctionVersions('str_replace_vstrict', texts.StrReplaceVeryStrict, '2017-09-01'),
    FunctionVersions('list_concat_unique', structures.ListConcatUnique, '2017-09-01'),
    FunctionVersions('contains', structures.Contains, '2017-09-01'),
    # CFN, in the order in which its versions list them (CFN_ORDER gives the place of Fn::Select)
    FunctionVersions('Fn::FindInMap', references.FindInMap, None, cfn=BOTH_CFN),
    FunctionVersions('Fn::GetAZs', references.GetAZs, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Ref', references.Ref, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Fn::GetAtt', references.GetAtt, None, cfn=BOTH_CFN),
    FunctionVersions('Fn::Join', texts.Join, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Fn::Split', texts.Split, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Fn::Replace', texts.CfnReplace, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Fn::Base64', texts.Base64, '2013-05-23', '2014-10-16', '2014-10-16', BOTH_CFN),
    FunctionVersions('Fn::MemberListToMap', structures.MemberListToMap, '2013-05-23', '2014-10-16', '2014-10-16',
                     BOTH_CFN),
    FunctionVersions('Fn::ResourceFacade', references.CfnResourceFacade, '2013-05-23', '2014-10-16', '2014-10-16',
                     BOTH_CFN),
    FunctionVersions('Fn::If', choices.If, None, cfn=(AWS_DATE,)),
)

CONDITION_FUNCTIONS: tuple[FunctionVersions, ...] = (
    FunctionVersions('equals', choices.Equals, NEWTON),
    FunctionVersions('not', choices.Not, NEWTON),
    FunctionVersions('and', choices.And, NEWTON),
    FunctionVersions('or', choices.Or, NEWTON),
    FunctionVersions('get_param', references.GetParam, NEWTON),
    FunctionVersions('yaql', query.Yaql, '2017-09-01'),
    FunctionVersions('contains', structures.Contains, '2017-09-01'),
    FunctionVersions('Fn::Equals', choices.Equals, None, cfn=(AWS_DATE,)),
    FunctionVersions('Fn::Not', choices.CfnNot, None, cfn=(AWS_DATE,)),
    FunctionVersions('Fn::And', choices.And, None, cfn=(AWS_DATE,)),
    FunctionVersions('Fn::Or', choices.Or, None, cfn=(AWS_DATE,)),
    FunctionVersions('Ref', references.ParamRef, None, cfn=(AWS_DATE,)),
    FunctionVersions('Fn::FindInMap', references.FindInMap, None, cfn=(AWS_DATE,)),
)

# The lists of the first HOT version and of CFN have an order of their own.
FIRST_ORDER = ('Fn::GetAZs', 'get_param', 'get_resource', 'Ref', 'get_attr', 'Fn::Select', 'Fn::Join', 'list_join',
               'Fn::Split', 'str_replace', 'Fn::Replace', 'Fn::Base64', 'Fn::MemberListToMap', 'resource_facade',
               'Fn::ResourceFacade', 'get_file')
CFN_ORDER = ('Fn::FindInMap', 'Fn::GetAZs', 'Ref', 'Fn::GetAtt', 'Fn::Select', 'Fn::Join', 'Fn::Split',
             'Fn::Replace', 'Fn::Base64', 'Fn::MemberListToMap', 'Fn::ResourceFacade', 'Fn::If')


@dataclass(frozen=True)
class Keys:
    """The names of keys in resources, outputs and parameters of a format."""

    description: str
    resources: str
    outputs: str
    type: str
    properties: str
    metadata: str
    depends_on: str
    deletion_policy: str
    update_policy: str
    resource_description: str
    condition: str
    external_id: str | None
    output_value: str

    @functools.cached_property
    def of_resources(self) -> frozenset[str]:
        return frozenset(key for key in (
            self.type, self.properties, self.metadata, self.depends_on, self.deletion_policy, self.update_policy,
            self.resource_description, self.condition, self.external_id) if key)


HOT_KEYS = Keys('description', 'resources', 'outputs', 'type', 'properties', 'metadata', 'depends_on',
                'deletion_policy', 'update_policy', 'description', 'condition', 'external_id', 'value')
CFN_KEYS = Keys('Description', 'Resources', 'Outputs', 'Type', 'Properties', 'Metadata', 'DependsOn',
                'DeletionPolicy', 'UpdatePolicy', 'Description', 'Condition', None, 'Value')

HOT_SECTIONS = {'description': 'description', 'parameter_groups': 'parameter_groups', 'parameters': 'parameters',
                'resources': 'resources', 'outputs': 'outputs', 'conditions': 'conditions'}
CFN_SECTIONS = {'description': 'Description', 'parameters': 'Parameters', 'resources': 'Resources',
                'outputs': 'Outputs', 'conditions': 'Conditions', 'mappings': 'Mappings'}
IGNORED_SECTION = '__undefined__'


@dataclass(frozen=True)
class Edition:
    """One version of the language.

    `rules`: of a version of a plug-in, the date of the version whose rules it has; `added`: functions of plug-ins;
    `own_functions`, `own_condition_functions`: all functions of a version of a plug-in.
    """

    key: str
    date: str
    rules: str | None = None
    added: tuple[FunctionVersions, ...] = field(default=(), compare=False, repr=False)
    own_functions: Mapping[str, type[Call]] | None = field(default=None, compare=False, repr=False)
    own_condition_functions: Mapping[str, type[Call]] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        return f'{self.key}.{self.date}'

    @property
    def family(self) -> str:
        return 'hot' if self.key == HOT_KEY else 'cfn'

    @property
    def is_hot(self) -> bool:
        return self.key == HOT_KEY

    def has(self, since: str) -> bool:
        """Whether this is a HOT version not older than `since`."""
        return self.key == HOT_KEY and (self.rules or self.date) >= since

    @property
    def has_conditions(self) -> bool:
        return self.has(NEWTON) or self.key == AWS_KEY

    @property
    def keys(self) -> Keys:
        return HOT_KEYS if self.key == HOT_KEY else CFN_KEYS

    @functools.cached_property
    def sections(self) -> Mapping[str, str]:
        """HOT name of a section -> its key in this format."""
        every = HOT_SECTIONS if self.key == HOT_KEY else CFN_SECTIONS
        return {name: key for name, key in every.items() if name != 'conditions' or self.has_conditions}

    @functools.cached_property
    def section_keys(self) -> frozenset[str]:
        return frozenset([*self.sections.values(), self.key, IGNORED_SECTION])

    @functools.cached_property
    def functions(self) -> Mapping[str, type[Call]]:
        added = self._known(self.added)
        if self.own_functions is not None:
            return {**added, **self.own_functions}
        return {**self._known(FUNCTIONS), **dict.fromkeys(self._refused(), UnsupportedFunction), **added}

    @functools.cached_property
    def condition_functions(self) -> Mapping[str, type[Call]]:
        return self._known(CONDITION_FUNCTIONS) if self.own_condition_functions is None else (
            self.own_condition_functions)

    @property
    def usable(self) -> dict[str, type[Call]]:
        """The functions without those that are known only to be refused."""
        return {name: function for name, function in self.functions.items() if function is not UnsupportedFunction}

    @functools.cached_property
    def outside_conditions(self) -> frozenset[str]:
        """Functions that are not valid in conditions."""
        return frozenset(self.functions) - frozenset(self.condition_functions)

    def _known(self, rows: Iterable[FunctionVersions]) -> dict[str, type[Call]]:
        return {row.name: row.implementation for row in rows if self._is_known(row)}

    def _is_known(self, row: FunctionVersions) -> bool:
        date = self.rules or self.date
        if self.key != HOT_KEY:
            return date in row.cfn
        return row.since is not None and row.since <= date and (row.until is None or date < row.until)

    def _refused(self) -> list[str]:
        if self.key != HOT_KEY:
            return []
        return [row.name for row in FUNCTIONS if row.refused_since is not None and row.refused_since <= self.date]


EDITIONS = (Edition(AWS_KEY, AWS_DATE), Edition(CFN_KEY, CFN_DATE), *(Edition(HOT_KEY, date) for date in HOT_DATES))


def _by_value(editions: Iterable[Edition]) -> dict[tuple[str, str], Edition]:
    found = {(edition.key, edition.date): edition for edition in editions}
    return found | {(HOT_KEY, alias): found[HOT_KEY, date] for alias, date in ALIASES.items()}


_BY_VALUE = _by_value(EDITIONS)


def is_built_in(name: str) -> bool:
    """Whether `<key>.<date or alias>` is a version of the language itself."""
    key, _dot, value = name.partition('.')
    return (key, value) in _by_value(EDITIONS)


def like(base: Edition, version: str, functions: Mapping[str, type[Call]],
         condition_functions: Mapping[str, type[Call]]) -> Edition:
    """Return a version of a plug-in: the rules of `base`, with these functions."""
    return Edition(base.key, version, base.rules or base.date, own_functions=functions,
                   own_condition_functions=condition_functions)


def extend(functions: Iterable[FunctionVersions] = (), editions: Iterable[Edition] = ()) -> None:
    """Make functions and versions of plug-ins known to this process, in place of those of an earlier call.

    Templates that were read before keep theirs.
    """
    global _BY_VALUE
    added = tuple(functions)
    _BY_VALUE = _by_value(replace(edition, added=added) if added else edition for edition in (*EDITIONS, *editions))


def of(document: Mapping[str, object]) -> Edition:
    """Return the version of a document. Raises InvalidTemplateVersion."""
    given = [(key, value) for key in VERSION_KEYS if isinstance(value := document.get(key), str)]
    if not given:
        raise exception.InvalidTemplateVersion(explanation=_('Template version was not provided'))
    if len(given) > 1:
        raise exception.InvalidTemplateVersion(
            explanation=_('Ambiguous versions (%s)') % ', '.join(sorted(key for key, _value in given)))
    key, value = given[0]
    edition = _BY_VALUE.get((key, value))
    if edition is None:
        known = sorted(version for known_key, version in _BY_VALUE if known_key == key)
        choice = f'one of: {", ".join(known)}' if len(known) > 1 else f': {known[0]}'
        raise exception.InvalidTemplateVersion(explanation=(
            _('"%(key)s: %(value)s". "%(key)s" should be %(choice)s')
            % {'key': key, 'value': value, 'choice': choice}).replace('be : ', 'be: '))
    return edition


def named(name: str) -> Edition:
    """Return the version named `<key>.<date or alias>`. Raises NotFound."""
    key, _dot, value = name.partition('.')
    edition = _BY_VALUE.get((key, value))
    if edition is None:
        raise exception.NotFound(_('Template with version %(version)s not found'), version=name)
    return edition


def listed() -> list[dict[str, object]]:
    """Return the response of template_versions: `version`, `type`, `aliases`, sorted by version."""
    return [{'version': edition.name, 'type': edition.family,
             'aliases': [f'{HOT_KEY}.{alias}' for alias, date in ALIASES.items()
                         if edition.key == HOT_KEY and date == edition.date]}
            for edition in sorted(set(_BY_VALUE.values()), key=lambda edition: edition.name)]


def listed_functions(name: str, with_conditions: bool = False) -> list[dict[str, str]]:
    """Return the response of the functions of a version: `functions` (the name), `description`. Raises NotFound."""
    edition = named(name)
    known = edition.usable
    order: tuple[str, ...] = ()
    if not edition.is_hot:
        order = CFN_ORDER
    elif edition.date == HOT_DATES[0]:
        order = FIRST_ORDER
    rows = [(function, known[function]) for function in dict.fromkeys((*order, *known)) if function in known]
    if with_conditions:
        rows += [row for row in edition.condition_functions.items() if row[0] not in known]
    return [{'functions': function, 'description': (implementation.__doc__ or '').split('\n')[0]}
            for function, implementation in rows]
