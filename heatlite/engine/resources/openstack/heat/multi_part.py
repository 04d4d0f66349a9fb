"""OS::Heat::MultipartMime.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from email.mime import multipart, text

from heatlite.common import mime_messages
from heatlite.engine.properties import Values
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.openstack.heat import software_config
from heatlite.language.budget import Budget, text_size

NAME = 'OS::Heat::MultipartMime'


class MultipartMime(software_config.SoftwareConfig):
    """Several texts as one multipart MIME message, as cloud-init reads it."""

    PARTS, CONFIG, FILENAME, TYPE, SUBTYPE = 'parts', 'config', 'filename', 'type', 'subtype'
    TYPES = (TEXT, MULTIPART) = ('text', 'multipart')

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    def fields(self) -> dict[str, object]:
        message, budget = multipart.MIMEMultipart(), Budget(self.stack.defn.limits)
        stored: dict[str, str] = {}
        for part in self.properties[self.PARTS] or ():
            config = part[self.CONFIG]
            if config not in stored:
                stored[config] = self._content(config)
            budget.make(self.PARTS, text_size(stored[config]))
            for each in self._parts_of(part, stored[config]):
                message.attach(each)
        return {'group': self.properties[self.GROUP], 'config': mime_messages.written(message)}

    def _parts_of(self, part: Values, content: str) -> Iterator[text.MIMEText]:
        if part[self.TYPE] == self.MULTIPART:
            yield from self._split(content, part)
        else:
            yield mime_text(content, part[self.SUBTYPE], part[self.FILENAME])

    def _content(self, config: str) -> str:
        """A config's id stands for its content."""
        if not looks_like_id(config):
            return config
        with self.rpc_client().ignore_error_by_name('NotFound'):
            return str(self.rpc_client().show_software_config(self.context, config)['config'])
        return config

    def _split(self, content: str, part: Values) -> Iterator[text.MIMEText]:
        """Parts of a message have subtypes and file names of their own; those of `part` are for a text without any."""
        message = mime_messages.read(content)
        if not message.is_multipart():
            yield mime_text(mime_messages.content(message), part[self.SUBTYPE] or message.get_content_subtype(),
                            message.get_filename() or part[self.FILENAME])
            return
        for each in message.walk():
            if each.get_content_maintype() != 'multipart':
                yield mime_text(mime_messages.content(each), each.get_content_subtype(), each.get_filename())


def mime_text(content: str, subtype: str | None, filename: str | None) -> text.MIMEText:
    """Return a text part. `subtype`: by default the name of the file without its extension, or `plain`."""
    if not subtype:
        subtype = os.path.splitext(filename)[0] if filename else 'plain'
    try:
        content.encode('us-ascii')
        charset = 'us-ascii'
    except UnicodeEncodeError:
        charset = 'utf-8'
    found = text.MIMEText(content, _subtype=subtype, _charset=charset)
    if filename:
        found.add_header('Content-Disposition', 'attachment', filename=filename)
    return found


def looks_like_id(value: str) -> bool:
    return len(value) == 36 and value.count('-') == 4 and all(sign in '0123456789abcdef-' for sign in value)


def resource_mapping() -> dict[str, type[MultipartMime]]:
    return {NAME: MultipartMime}
