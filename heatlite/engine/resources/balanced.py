"""Groups whose members are served by load balancers of the same stack (`LoadBalancerNames`).

Members that a change takes away or replaces are taken out of the load balancers first, and afterwards the load
balancers serve the members there are. Both ask the load balancer until it has done so, so any engine may go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from heatlite.common import exception, grouputils
from heatlite.common.i18n import _
from heatlite.engine import rsrc_defn
from heatlite.engine.resources import members, scaled
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.template import Template

POSTPONED = 'postponed'                 # key of a cookie: the update that waits for the load balancers


@runtime_checkable
class MemberBalancer(Protocol):
    def serve(self, group: str, instances: Sequence[str]) -> bool: ...


class BalancedGroup(scaled.ScaledGroup):
    """A group that may have a property `LoadBalancerNames`: references of load balancers."""

    looks_up_others = True

    LOAD_BALANCER_NAMES = 'LoadBalancerNames'

    def _load_balancers(self) -> list[MemberBalancer]:
        """Raise Error for a name that is no load balancer of this stack."""
        found = []
        names = self.properties[self.LOAD_BALANCER_NAMES] if self.LOAD_BALANCER_NAMES in self.properties_schema else ()
        for name in names or ():
            found.append(_balancer(self.stack.resource_by_refid(name), name))
        return found

    def _are_serving(self, names: Sequence[str]) -> bool:
        """Whether the load balancers serve these members and no others of the group. All of them begin at once."""
        balancers = self._load_balancers()
        if not balancers:
            return True
        references = self._references()
        instances = [str(references[name]) for name in names if references.get(name)]
        done = [balancer.serve(self.name, instances) for balancer in balancers]
        return all(done)

    def is_announced(self) -> bool:
        return self._are_serving(list(grouputils.GroupInspector(self).member_names(include_failed=False)))

    def made_ready(self, template: Template) -> bool:
        """Return whether the load balancers no longer serve members that are removed or get a new definition."""
        wanted = template.section('resources') or {}
        current = self.current_members()
        staying = [name for name, member in current.items() if name in wanted and members.same(wanted[name], member)]
        return len(staying) == len(current) or self._are_serving(staying)

    # --- updates ------------------------------------------------------------------------------------------

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> Any:
        self.take_properties(json_snippet)
        if self.resource_id is None or not self._load_balancers() or self.made_ready(self._first_template(prop_diff)):
            return super().handle_update(json_snippet, tmpl_diff, prop_diff)
        return {POSTPONED: {'definition': self.t.to_stored(), 'properties': self.properties_to_store(),
                            'changed': list(prop_diff)}}

    def _first_template(self, prop_diff: Mapping[str, object]) -> Template:
        """Return the template of the first batch of an update."""
        size, policy = self._goal(prop_diff)
        if policy is None:
            return self.sized(size)
        self.goal = size
        return self.next_template() or self.sized(size)

    def _check_batches(self, cookie: Any) -> bool:
        if POSTPONED in cookie:
            self._resume_postponed(cookie)
            return False
        return super()._check_batches(cookie) and self.is_announced()

    def _resume_postponed(self, cookie: Any) -> None:
        postponed = cookie[POSTPONED]
        wanted = rsrc_defn.ResourceDefinition.from_stored(self.name, postponed['definition'], postponed['properties'])
        begun = self.handle_update(wanted, wanted - self.frozen_definition(),
                                   dict.fromkeys(postponed['changed']))
        if POSTPONED not in begun:
            del cookie[POSTPONED]
            cookie.update(begun)


def _balancer(other: object, name: str) -> MemberBalancer:
    if not isinstance(other, MemberBalancer):
        raise exception.Error(_("Unsupported resource '%s' in LoadBalancerNames") % name)
    return other
