"""Images (Glance)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from functools import cached_property

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import constraints
from heatlite.engine.clients import os as shared
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'glance'


class Images(collection.Creating):
    path, plural = '/images', 'images'

    def list(self, filters: Mapping[str, object] | None = None,       # type: ignore[override] # as in glanceclient
             **params: object) -> list[collection.Entity]:
        params.pop('detailed', None)
        return super().list(search_opts={**(filters or {}), **params})

    def update(self, what: collection.EntityOrId,     # type: ignore[override] # as in glanceclient
               remove_props: Iterable[str] | None = None, **fields: object) -> collection.Entity:
        """Set `fields`, adding the ones that are not there; JSON patch as the service wants it."""
        there = self.get(what).to_dict()
        patch: builtins.list[dict[str, object]] = [
            {'op': 'remove', 'path': f'/{name}'} for name in remove_props or () if name in there]
        patch += [{'op': 'replace' if name in there else 'add', 'path': f'/{name}', 'value': value}
                  for name, value in fields.items()]
        return self._entity(self.http.patch(
            self._url(what), json=patch, headers={'Content-Type': 'application/openstack-images-v2.1-json-patch'}))

    def deactivate(self, image_id: str) -> None:
        self.http.post(self._url(image_id, 'actions', 'deactivate'))

    def reactivate(self, image_id: str) -> None:
        self.http.post(self._url(image_id, 'actions', 'reactivate'))


class ImageClient(collection.Client):
    images = cached_property(Images)


class GlanceClientPlugin(service.ServicePlugin[ImageClient]):
    option_group = CLIENT_NAME
    service_types = [IMAGE] = ['image']
    api_version = {'min_version': '2', 'max_version': '2.latest'}
    client_class = ImageClient

    @shared.MEMOIZE_FINDER
    def find_image_by_name_or_id(self, image_identifier: str) -> str:
        """Return the id of an image. Raises EntityMatchNotFound, EntityUniqueMatchNotFound."""
        return str(self.get_image(image_identifier).id)

    def get_image(self, image_identifier: str) -> collection.Entity:
        images = self.client().images
        if service.looks_like_uuid(image_identifier):
            try:
                return images.get(image_identifier)
            except Exception as error:          # some name their images like that
                self.ignore_not_found(error)
        named = [image for image in images.list(filters={'name': image_identifier}) if image.name == image_identifier]
        if not named:
            raise EntityMatchNotFound(entity='images', args={'name': image_identifier})
        if len(named) > 1:
            raise EntityUniqueMatchNotFound(entity='images', args={'name': image_identifier})
        return named[0]

    @shared.MEMOIZE_FINDER
    def needs_of_active_image(self, image_identifier: str) -> list[int]:
        """Return [MiB of memory, GiB of disk] that an image needs. Raises StackValidationFailed, which is not
        remembered, unless its status is active, and EntityNotFound."""
        image = self.get_image(image_identifier)
        status = str(image.status).lower()
        if status != 'active':
            raise exception.StackValidationFailed(message=_(
                'Image status is required to be %(cstatus)s not %(wstatus)s.') % {
                    'cstatus': 'active', 'wstatus': status})
        return [getattr(image, 'min_ram', 0) or 0, getattr(image, 'min_disk', 0) or 0]


class EntityMatchNotFound(exception.EntityNotFound):
    msg_fmt = 'No %(entity)s matching %(args)s.'

    def __init__(self, entity: str = '', args: object = None) -> None:
        exception.HeatException.__init__(self, entity=entity, args=args)


class EntityUniqueMatchNotFound(EntityMatchNotFound):
    msg_fmt = 'No %(entity)s unique match found for %(args)s.'


class ImageConstraint(constraints.BaseCustomConstraint):
    expected_exceptions = (exception.EntityNotFound,)
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'find_image_by_name_or_id'
