"""Types that do nothing: those whose service is gone, and those nobody has written yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.resources.openstack.heat import none_resource

FAMILY = 'placeholder'                      # of an entry of the catalogue


class Placeholder(none_resource.NoneResource):
    """Kept so that stacks which still have such a resource can be shown, updated and deleted."""

    def handle_delete(self) -> None:
        """The service that had made it is gone."""


INSTEAD = {                                 # type nobody makes -> what does the same today
    'AWS::CloudWatch::Alarm': 'OS::Aodh::PrometheusAlarm, OS::Aodh::GnocchiAggregationByResourcesAlarm',
    'AWS::ElasticLoadBalancing::LoadBalancer': 'OS::Octavia::LoadBalancer',
}


class Unmade(resource.Resource):
    """A type that is known and that this version cannot create."""

    def validate(self) -> None:
        instead = INSTEAD.get(self.type())
        raise exception.StackValidationFailed(message=' '.join([
            _('Resources of type %s cannot be created by this version of heatlite.') % self.type(),
            *([_('Use %s.') % instead] if instead else [])]))

    def handle_create(self) -> None:
        self.validate()


def class_of(type_name: str, facts: Mapping[str, Any], members: Mapping[str, Any]) -> Any:
    """`members`: what the facts say of the class, see `types`."""
    base = Placeholder if facts.get('family') == FAMILY else Unmade
    return type(facts['class_name'], (base,), {
        **members, '__doc__': base.__doc__, '__module__': __name__,
        **({'properties_schema': {}} if base is Placeholder else {})})
