"""OS::Heat::RandomString."""

from __future__ import annotations

from typing import Any

from heatlite.common import exception, password_gen
from heatlite.common.i18n import _
from heatlite.engine import attributes, constraints, properties, resource, support, translation


class RandomString(resource.Resource):
    """A random text, such as a password, that stays the same until its rules or its salt change.

    It is the value of the resource's reference too. Replaced whenever a property changes.
    """

    support_status = support.SupportStatus(version='2014.1')
    idempotent_create = True

    PROPERTIES = (LENGTH, SEQUENCE, CHARACTER_CLASSES, CHARACTER_SEQUENCES, SALT) = (
        'length', 'sequence', 'character_classes', 'character_sequences', 'salt')
    _CLASS_KEYS = (CHARACTER_CLASSES_CLASS, CHARACTER_CLASSES_MIN) = ('class', 'min')
    _SEQUENCE_KEYS = (CHARACTER_SEQUENCES_SEQUENCE, CHARACTER_SEQUENCES_MIN) = ('sequence', 'min')
    ATTRIBUTES = (VALUE,) = ('value',)
    CLASS_NAMES = tuple(password_gen.CHARACTER_CLASSES)

    properties_schema = {
        LENGTH: properties.Schema(
            properties.Schema.INTEGER, _('Number of characters.'), default=32,
            constraints=[constraints.Range(min=1, max=512)]),
        SEQUENCE: properties.Schema(
            properties.Schema.STRING, _('Characters to choose from.'),
            constraints=[constraints.AllowedValues(CLASS_NAMES)],
            support_status=support.SupportStatus(
                status=support.HIDDEN, version='5.0.0',
                message=_('Use property %s.') % CHARACTER_CLASSES,
                previous_status=support.SupportStatus(status=support.DEPRECATED, version='2014.2'))),
        CHARACTER_CLASSES: properties.Schema(
            properties.Schema.LIST, _('Classes of characters to choose from, each with how many there must be.'),
            default=[{CHARACTER_CLASSES_CLASS: 'lettersdigits', CHARACTER_CLASSES_MIN: 1}],
            schema=properties.Schema(properties.Schema.MAP, schema={
                CHARACTER_CLASSES_CLASS: properties.Schema(
                    properties.Schema.STRING, _('Name of the class.'), default='lettersdigits',
                    constraints=[constraints.AllowedValues(CLASS_NAMES)]),
                CHARACTER_CLASSES_MIN: properties.Schema(
                    properties.Schema.INTEGER, _('Least number of characters of this class.'), default=1,
                    constraints=[constraints.Range(min=1, max=512)]),
            })),
        CHARACTER_SEQUENCES: properties.Schema(
            properties.Schema.LIST, _('Further characters to choose from, each set with how many there must be.'),
            schema=properties.Schema(properties.Schema.MAP, schema={
                CHARACTER_SEQUENCES_SEQUENCE: properties.Schema(
                    properties.Schema.STRING, _('The characters.'), required=True),
                CHARACTER_SEQUENCES_MIN: properties.Schema(
                    properties.Schema.INTEGER, _('Least number of characters of this set.'), default=1,
                    constraints=[constraints.Range(min=1, max=512)]),
            })),
        SALT: properties.Schema(
            properties.Schema.STRING, _('Any text; another one makes another random string.')),
    }
    attributes_schema = {
        VALUE: attributes.Schema(
            _('The random text. A stack with more than one uses it like any other attribute; whoever may read '
              'resource data may read it.'),
            cache_mode=attributes.Schema.CACHE_NONE, type=attributes.Schema.STRING),
    }

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
        least = [entry['min'] for entry in self._rules() if isinstance(entry.get('min'), int)]
        length = self.properties[self.LENGTH]
        if isinstance(length, int) and sum(least) > length:
            raise exception.StackValidationFailed(message=_(
                'Length property cannot be smaller than combined character class and character sequence minimums'))

    def handle_create(self) -> None:
        kinds = [
            password_gen.special_char_class(entry[self.CHARACTER_SEQUENCES_SEQUENCE], entry['min'])
            if self.CHARACTER_SEQUENCES_SEQUENCE in entry
            else password_gen.named_char_class(entry[self.CHARACTER_CLASSES_CLASS], entry['min'])
            for entry in self._rules()]
        value = password_gen.generate_password(self.properties[self.LENGTH], kinds, self.runtime)
        self.data_set(self.VALUE, value, redact=True)
        self.resource_id_set(self.physical_resource_name())

    def _rules(self) -> list[dict[str, Any]]:
        found: list[Any] = []
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
    return {'OS::Heat::RandomString': RandomString}
