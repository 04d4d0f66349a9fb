"""AWS::S3::Bucket: a container of the object storage.

Schema: heatlite/engine/resources/catalogue/aws.yaml
"""

from __future__ import annotations

from urllib.parse import urlsplit

from heatlite.engine import resource
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.rest import swift_hooks
from heatlite.engine.resources.unknown_values import entries

TYPE = 'AWS::S3::Bucket'
EVERYBODY = '.r:*'


class S3Bucket(resource.Resource):
    """A container of objects."""

    default_client_name = 'swift'
    support_status = catalogue.status(TYPE)
    properties_schema = catalogue.properties(TYPE)
    attributes_schema = catalogue.attribute_schemata(TYPE)

    PROPERTIES = (ACCESS_CONTROL, WEBSITE_CONFIGURATION, TAGS) = ('AccessControl', 'WebsiteConfiguration', 'Tags')
    ATTRIBUTES = (DOMAIN_NAME, WEBSITE_URL) = ('DomainName', 'WebsiteURL')

    validates_at_creation = True

    def validate(self) -> object:
        found = super().validate()
        swift_hooks.refuse_names(self.TAGS, [tag['Key'] for tag in entries(self.properties, self.TAGS)])
        return found

    def handle_create(self) -> None:
        container = str(self.physical_resource_name())
        self.client().put_container(container, self._headers())
        self.resource_id_set(container)

    def find_existing(self) -> None:
        """A container of its name that is there is simply put once more."""

    def _headers(self) -> dict[str, str]:
        headers = self._access(self.properties[self.ACCESS_CONTROL])
        website = self.properties[self.WEBSITE_CONFIGURATION] or {}
        for name, header in (('IndexDocument', 'Index'), ('ErrorDocument', 'Error')):
            if website.get(name):
                headers[f'X-Container-Meta-Web-{header}'] = website[name]
        for tag in self.properties[self.TAGS] or ():
            headers[f'X-Container-Meta-S3-Tag-{tag["Key"]}'] = tag['Value']
        return headers

    def _access(self, wanted: str | None) -> dict[str, str]:
        project = str(self.context.tenant or self.context.project_id)
        owner = f'{project}:{self.context.username}'
        match wanted:
            case 'PublicReadWrite':
                return {'X-Container-Write': EVERYBODY, 'X-Container-Read': EVERYBODY}
            case 'PublicRead':
                return {'X-Container-Write': owner, 'X-Container-Read': EVERYBODY}
            case 'AuthenticatedRead':
                return {'X-Container-Write': owner, 'X-Container-Read': project}
        return {'X-Container-Write': owner, 'X-Container-Read': owner}

    def handle_delete(self) -> None:
        """A bucket with objects in it is not deleted: the service refuses."""
        if self.resource_id is not None:
            with self.client_plugin().ignore_not_found:
                self.client().delete_container(self.resource_id)

    def get_reference_id(self) -> str:
        return str(self.resource_id)

    def _resolve_attribute(self, name: str) -> object:
        at = urlsplit(self.client().url)
        if name == self.DOMAIN_NAME:
            return at.netloc.partition(':')[0]
        return f'{at.scheme}://{at.netloc}{at.path}/{self.resource_id}'

    def _live_object(self) -> object:
        return self.client().head_container(self.resource_id) if self.resource_id else None


def resource_mapping() -> dict[str, type[S3Bucket]]:
    return {TYPE: S3Bucket}
