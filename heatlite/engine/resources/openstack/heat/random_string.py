"""OS::Heat::RandomString.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

from heatlite.common import exception, password_gen
from heatlite.common.i18n import _
from heatlite.engine import properties, resource, translation
from heatlite.engine.properties import Values
from heatlite.engine.resources import catalogue

TYPE = 'OS::Heat::RandomString'


class RandomString(resource.Resource):
    """A random text, such as a password, that stays the same until its rules or its salt change.

    It is the value of the resource's reference too. Replaced whenever a property changes.
    """

    validates_at_creation = True
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)
    idempotent_create = True

    PROPERTIES = (LENGTH, SEQUENCE, CHARACTER_CLASSES, CHARACTER_SEQUENCES, SALT) = (
        'length', 'sequence', 'character_classes', 'character_sequences', 'salt')
    _CLASS_KEYS = (CHARACTER_CLASSES_CLASS, CHARACTER_CLASSES_MIN) = ('class', 'min')
    _SEQUENCE_KEYS = (CHARACTER_SEQUENCES_SEQUENCE, CHARACTER_SEQUENCES_MIN) = ('sequence', 'min')
    ATTRIBUTES = (VALUE,) = ('value',)

    def translation_rules(self, props: properties.Properties) -> list[translation.TranslationRule]:
        sequence = props.get(self.SEQUENCE)
        if not sequence:
            return []
        chosen = [{self.CHARACTER_CLASSES_CLASS: sequence, self.CHARACTER_CLASSES_MIN: 1}]
        return [
            translation.TranslationRule(props, translation.ADD, [self.CHARACTER_CLASSES], value=chosen),
            translation.TranslationRule(props, translation.DELETE, [self.SEQUENCE]),
        ]

    def validate(self) -> None:
        super().validate()
        self._check_length(self._rules())

    def _check_length(self, rules: list[Values]) -> None:
        least = [entry['min'] for entry in rules if isinstance(entry.get('min'), int)]
        length = self.properties[self.LENGTH]
        if isinstance(length, int) and sum(least) > length:
            raise exception.StackValidationFailed(message=_(
                'Length property cannot be smaller than combined character class and character sequence minimums'))

    def handle_create(self) -> None:
        rules = self._rules()
        self._check_length(rules)           # of values that were not known when the stack was accepted
        kinds = [
            password_gen.special_char_class(entry[self.CHARACTER_SEQUENCES_SEQUENCE], entry['min'])
            if self.CHARACTER_SEQUENCES_SEQUENCE in entry
            else password_gen.named_char_class(entry[self.CHARACTER_CLASSES_CLASS], entry['min'])
            for entry in rules]
        value = password_gen.generate_password(self.properties[self.LENGTH], kinds, self.runtime)
        self.data_set(self.VALUE, value, redact=True)
        self.resource_id_set(self.physical_resource_name())

    def _rules(self) -> list[Values]:
        found: list[object] = []
        for name in (self.CHARACTER_SEQUENCES, self.CHARACTER_CLASSES):
            entries = self.properties[name]
            found += entries if isinstance(entries, list) else []
        return [entry for entry in found if isinstance(entry, dict)]

    def _resolve_attribute(self, name: str) -> str | None:
        return self.data().get(self.VALUE) if name == self.VALUE else None

    def get_reference_id(self) -> str:
        value = self.data().get(self.VALUE) if self.resource_id is not None else None
        return str(self.name) if value is None else value


def resource_mapping() -> dict[str, type[resource.Resource]]:
    return {TYPE: RandomString}
