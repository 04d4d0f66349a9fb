"""`heat.engine.software_config_io`: the inputs and outputs of software configs, for plug-ins with configs of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints, properties

IO_NAME, DESCRIPTION, TYPE, DEFAULT, REPLACE_ON_CHANGE, VALUE, ERROR_OUTPUT = (
    'name', 'description', 'type', 'default', 'replace_on_change', 'value', 'error_output')
TYPES = (STRING_TYPE, NUMBER_TYPE, LIST_TYPE, JSON_TYPE, BOOLEAN_TYPE) = (
    'String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean')
# Type of a parameter -> that of a property with such a value.
PROPERTY_TYPES = {STRING_TYPE: properties.Schema.STRING, NUMBER_TYPE: properties.Schema.NUMBER,
                  LIST_TYPE: properties.Schema.LIST, JSON_TYPE: properties.Schema.MAP,
                  BOOLEAN_TYPE: properties.Schema.BOOLEAN}
NO_VALUE = object()


def _schema(kind: str) -> dict[str, properties.Schema]:
    return {
        IO_NAME: properties.Schema(properties.Schema.STRING, _('Name of the %s.') % kind, required=True),
        DESCRIPTION: properties.Schema(properties.Schema.STRING, _('Description of the %s.') % kind),
        TYPE: properties.Schema(properties.Schema.STRING, _('Type of the value of the %s.') % kind,
                                default=STRING_TYPE, constraints=[constraints.AllowedValues(TYPES)])}


input_config_schema = {
    **_schema('input'),
    DEFAULT: properties.Schema(properties.Schema.ANY, _('Value of the input where none is given.')),
    REPLACE_ON_CHANGE: properties.Schema(
        properties.Schema.BOOLEAN, _('Whether another value replaces the deployment.'), default=False)}
output_config_schema = {
    **_schema('output'),
    ERROR_OUTPUT: properties.Schema(
        properties.Schema.BOOLEAN, _('Whether the deployment has failed if this output has a value.'), default=False)}


class IOConfig:
    """The declaration of one input or output. Raises ValueError for a wrong one."""

    schema: ClassVar[Mapping[str, properties.Schema]]

    def __init__(self, **config: object) -> None:
        self._props = properties.Properties(self._schema_of(config), config)
        try:
            self._props.validate()
        except exception.StackValidationFailed as error:
            raise ValueError(str(error)) from None

    def _schema_of(self, config: Mapping[str, object]) -> Mapping[str, properties.Schema]:
        return self.schema

    def name(self) -> str:
        return str(self._props[IO_NAME])

    def as_dict(self) -> dict[str, object]:
        """Return it as it is stored: without what is not set."""
        return {key: value for key, value in self._props.items() if value is not None}

    def __repr__(self) -> str:
        return f'{type(self).__name__}({", ".join(f"{key}={value!r}" for key, value in self.as_dict().items())})'


class InputConfig(IOConfig):
    schema = input_config_schema

    def __init__(self, value: object = NO_VALUE, **config: object) -> None:
        super().__init__(**config)
        self._value = value

    def _schema_of(self, config: Mapping[str, object]) -> Mapping[str, properties.Schema]:
        """A default has the type of the input. An empty text stands for none: it once was the default of all types."""
        kind = config.get(TYPE)
        if kind not in PROPERTY_TYPES or DEFAULT not in config or (config[DEFAULT] == '' and kind != STRING_TYPE):
            return self.schema
        return {**self.schema, DEFAULT: properties.Schema(
            PROPERTY_TYPES[kind], allow_conversion=kind in (LIST_TYPE, JSON_TYPE))}

    def default(self) -> object:
        return self._props[DEFAULT]

    def replace_on_change(self) -> bool:
        return bool(self._props[REPLACE_ON_CHANGE])

    def as_dict(self) -> dict[str, object]:
        found = super().as_dict()
        if not self.replace_on_change():
            found.pop(REPLACE_ON_CHANGE, None)
        if self._value is not NO_VALUE:
            found[VALUE] = self._value
        return found

    def input_data(self) -> tuple[str, object]:
        """Return (name, value or None)."""
        return self.name(), None if self._value is NO_VALUE else self._value


class OutputConfig(IOConfig):
    schema = output_config_schema

    def error_output(self) -> bool:
        return bool(self._props[ERROR_OUTPUT])


def with_typed_defaults(inputs: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return declared inputs with defaults that are values of their types. Raises ValueError for one that is none."""
    found = []
    for given in inputs:
        entry = dict(given)
        if entry.get(DEFAULT) is not None:
            try:
                entry[DEFAULT] = InputConfig(name=str(entry[IO_NAME]), type=entry.get(TYPE, STRING_TYPE),
                                             default=entry[DEFAULT]).default()
            except ValueError as error:
                raise ValueError(_('The input %(name)s: %(error)s') % {
                    'name': entry[IO_NAME], 'error': error}) from None
        found.append(entry)
    return found


def check_io_schema_list(io_configs: object) -> None:
    """Raise TypeError unless it is a list of maps."""
    if not isinstance(io_configs, Sequence) or isinstance(io_configs, str):
        raise TypeError(_('The inputs and outputs of a software config must be a list'))
    if not all(isinstance(each, Mapping) for each in io_configs):
        raise TypeError(_('Each input or output of a software config must be a map'))
