"""Policies about plans as rules in the operator's file, written in the Common Expression Language (CEL).

The library bounds an evaluation: at most 10 000 iterations, and regular expressions in linear time. Changes that are
too large for it are not evaluated. Between two evaluations other requests run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import yaml

from heatlite.common import exception, release, turns
from heatlite.common.i18n import _
from heatlite.common.wording import first_few
from heatlite.planning.ruling import MOST_REASONS, Effect, Ruling

CHANGE, PLAN = SUBJECTS = ('change', 'plan')
FIELDS = {'name', 'for', 'when', 'effect', 'reason'}
LARGEST_CHANGE = 1_048_576              # characters of one change as JSON
MOST_VALUES = 1_000                     # values of one change
STEPS_OF_EVALUATION = 50                # of a turn
CEL = 'cel_expr_python'


class NotEvaluated(Exception):
    """A rule gave no answer. Its text says why."""


class RuleValue(Protocol):
    def plain_value(self) -> object: ...


class Expression(Protocol):
    """A compiled expression of the library."""

    def eval(self, activation: object, /) -> RuleValue: ...

    def return_type(self) -> object: ...


class Library(Protocol):
    """An environment of the library."""

    def Activation(self, subject: Mapping[str, object], /) -> object: ...

    def compile(self, text: str, /) -> Expression: ...


@dataclass(frozen=True)
class PlanRule:
    """`when`: the compiled expression; if it is true of the plan, or of one of its changes, this is the effect."""

    name: str
    subject: str
    when: Expression
    effect: Effect
    reason: str


class PlanRules:
    """The rules of one file."""

    def __init__(self, environment: Library, rules: Sequence[PlanRule]) -> None:
        self._environment = environment
        self._rules = rules

    @classmethod
    def load(cls, path: str) -> PlanRules:
        """Read and compile the rules. Raises Error, naming what is wrong."""
        try:
            from cel_expr_python import cel
        except ImportError:
            raise exception.Error(_('Rules for plans need the library %s. ') % CEL
                                  + release.INSTALL_EXTRA % 'policies') from None
        environment = cel.NewEnv(variables=dict.fromkeys(SUBJECTS, cel.Type.DYN))
        try:
            document = yaml.safe_load(Path(path).read_text(encoding='utf-8'))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise _wrong(path, str(error)) from None
        if not isinstance(document, dict) or not isinstance(document.get('rules'), list) or len(document) > 1:
            raise _wrong(path, _('a map with the list "rules" is required'))
        rules = [_rule(f'{path}: rules.{number}', each, environment, (cel.Type.BOOL, cel.Type.DYN))
                 for number, each in enumerate(document['rules'])]
        if len({rule.name for rule in rules}) < len(rules):
            raise _wrong(path, _('two rules have the same name'))
        return cls(environment, rules)

    def rulings(self, plan: Mapping[str, object], when_broken: Effect) -> list[Ruling]:
        """Return the ruling of each rule. `plan`: as a document. `when_broken`: the effect of a rule that cannot be
        evaluated."""
        listed = plan['changes']
        assert isinstance(listed, Iterable)
        changes = [each for each in listed if each['action'] != 'none']
        header = json.loads(json.dumps({name: value for name, value in plan.items() if name != 'changes'}))
        hits: dict[str, list[str]] = {rule.name: [] for rule in self._rules}
        broken: dict[str, str] = {}
        self._judge([rule for rule in self._rules if rule.subject == PLAN], {PLAN: header, CHANGE: None}, '', hits,
                    broken)
        of_changes = [rule for rule in self._rules if rule.subject == CHANGE]
        for change in changes if of_changes else ():
            where = '/'.join(change['path'])
            written = json.dumps(change)            # read again: the library takes plain values only
            if len(change['values']) > MOST_VALUES or len(written) > LARGEST_CHANGE:
                for rule in of_changes:
                    broken.setdefault(rule.name, _('the change of %s is too large to be evaluated') % where)
                continue
            self._judge(of_changes, {PLAN: header, CHANGE: json.loads(written)}, where, hits, broken)
        return [_ruling(rule, hits[rule.name], broken.get(rule.name), when_broken) for rule in self._rules]

    def _judge(self, rules: Iterable[PlanRule], subject: Mapping[str, object], where: str, hits: dict[str, list[str]],
               broken: dict[str, str]) -> None:
        activation = self._environment.Activation(subject)
        for rule in rules:
            turns.spend(STEPS_OF_EVALUATION)
            try:
                if _evaluated(rule, activation):
                    hits[rule.name].append(where)
            except NotEvaluated as error:
                at = f'{where}: ' if where else ''
                broken.setdefault(rule.name, _('the rule cannot be evaluated: %s') % f'{at}{error}')


def _evaluated(rule: PlanRule, activation: object) -> bool:
    try:
        found = rule.when.eval(activation).plain_value()
    except RuntimeError as error:
        raise NotEvaluated(_first_line(error)) from None
    if not isinstance(found, bool):                 # an error is a value, too: its text
        raise NotEvaluated(_first_line(found))
    return found


def _ruling(rule: PlanRule, hits: Sequence[str], broken: str | None, when_broken: Effect) -> Ruling:
    if hits:
        shown = first_few([hit for hit in hits if hit], MOST_REASONS)
        return Ruling(rule.name, rule.effect, (f'{rule.reason} ({shown})' if shown else rule.reason,))
    if broken is not None:
        return Ruling(rule.name, when_broken, (broken,))
    return Ruling(rule.name, Effect.ALLOW)


def _rule(at: str, rule: object, environment: Library, types: Sequence[object]) -> PlanRule:
    if not isinstance(rule, dict) or not rule.keys() <= FIELDS or not all(
            isinstance(each, str) and each for each in rule.values()):
        raise _wrong(at, _('texts are required, of %s') % ', '.join(sorted(FIELDS)))
    missing = sorted({'name', 'when', 'effect', 'reason'} - rule.keys())
    if missing:
        raise _wrong(at, _('%s is missing') % ', '.join(missing))
    subject = rule.get('for', CHANGE)
    if subject not in SUBJECTS:
        raise _wrong(at, _('"for" is change or plan'))
    if rule['effect'] not in (Effect.WARN, Effect.DENY):
        raise _wrong(at, _('"effect" is warn or deny'))
    try:
        when = environment.compile(rule['when'])
    except RuntimeError as error:
        raise _wrong(at, str(error)) from None
    if when.return_type() not in types:
        raise _wrong(at, _('"when" is neither true nor false'))
    return PlanRule(rule['name'], subject, when, Effect(rule['effect']), rule['reason'])


def _first_line(error: object) -> str:
    return str(error).partition('\n')[0][:200]


def _wrong(at: str, why: str) -> exception.Error:
    return exception.Error(_('Wrong rules for plans, %(at)s: %(why)s') % {'at': at, 'why': why})
