"""What a changed definition means for a resource: nothing, an update, a replacement - as far as the type decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import properties as property_set
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff


@dataclass(frozen=True)
class Comparison:
    """The old and the new side of an update, ready to be asked."""

    before: ResourceDefinition
    after: ResourceDefinition
    before_props: property_set.Properties
    after_props: property_set.Properties


class Updates:
    """Part of `Resource`. Every question is put to the *old* resource."""

    # --- for types to answer ------------------------------------------------------------------------------

    def needs_replace(self, after_props: property_set.Properties) -> bool:
        """Whatever changed: must it be replaced?"""
        return False

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: property_set.Properties,
                                     before_props: property_set.Properties) -> bool:
        return False

    def needs_replace_with_tmpl_diff(self, tmpl_diff: ResourceDefinitionDiff) -> bool:
        return False

    def needs_replace_failed(self) -> bool:
        """It is FAILED: must it be replaced, whether or not something changed?"""
        return True

    def prepare_for_replace(self) -> None:
        """Called before its replacement is made: give up what only one of the two can have."""

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Called when a rollback comes back to it: take that again."""

    def regenerate_info_schema(self, definition: ResourceDefinition) -> None:
        """For types whose schemas depend on the definition."""

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, Any]) -> Any:
        """For types that can be updated in place."""
        if prop_diff:
            raise exception.UpdateReplace(self.name)
        return None

    # --- for the engine to ask, in this order -------------------------------------------------------------

    def compare(self, after: ResourceDefinition) -> Comparison:
        """Both sides with their properties, translated alike. The old side is what is stored."""
        before = self.frozen_definition()
        before_props = before.properties(self._schemata(), self.context)
        self.regenerate_info_schema(after)
        after_props = after.properties(self._schemata(), self.context)
        self.translate_properties(after_props)
        # The old names may be gone from the cloud by now; that must not stop the update.
        self.translate_properties(before_props, ignore_resolve_error=True)
        return Comparison(before, after, before_props, after_props)

    def _needs_update(self, after: ResourceDefinition, before: ResourceDefinition,
                      after_props: property_set.Properties, before_props: property_set.Properties,
                      prev_resource: Any, check_init_complete: bool = True) -> bool:
        """Whether anything differs. Raises UpdateReplace when only a replacement will do whatever differs."""
        if self.status == self.FAILED:
            checked_bad = self.action == self.CHECK and self.always_replace_on_check_failed
            if checked_bad or self.needs_replace_failed():
                raise exception.UpdateReplace(self)
        if self.state == (self.DELETE, self.COMPLETE):
            raise exception.UpdateReplace(self)
        if check_init_complete and self.state == (self.INIT, self.COMPLETE):
            raise exception.UpdateReplace(self)
        if self.needs_replace(after_props):
            raise exception.UpdateReplace(self)
        if before != after.freeze():
            return True
        try:
            return bool(before_props != after_props)
        except (ValueError, TypeError, exception.StackValidationFailed):
            return True                 # the stored values no longer fit the schema

    def needs_update(self, comparison: Comparison, prev_resource: Any = None) -> bool:
        return self._needs_update(comparison.after, comparison.before, comparison.after_props,
                                  comparison.before_props, prev_resource or self)

    def update_template_diff(self, after: ResourceDefinition, before: ResourceDefinition) -> ResourceDefinitionDiff:
        return after - before

    def changes(self, comparison: Comparison) -> tuple[ResourceDefinitionDiff, dict[str, Any]]:
        """(template diff, property diff): the arguments of `handle_update` after the definition.

        Raises UpdateReplace, or NotSupported for a change of what is immutable.
        """
        template_diff = self.update_template_diff(comparison.after, comparison.before)
        if self.needs_replace_with_tmpl_diff(template_diff):
            raise exception.UpdateReplace(self)
        return template_diff, self.update_template_diff_properties(comparison.after_props, comparison.before_props)

    def calc_update_allowed(self, props: property_set.Properties) -> set[str]:
        """Names of properties that may change in place."""
        return set(self.update_allowed_properties) | {
            name for name, schema in props.schema.items() if schema.update_allowed}

    def update_template_diff_properties(self, after_props: property_set.Properties,
                                        before_props: property_set.Properties) -> dict[str, Any]:
        """Changed properties with their new values; None for one that was taken away."""
        changed = changed_names(after_props, before_props)
        if not changed:
            return {}
        immutable = sorted(name for name in changed if after_props.schema[name].immutable)
        if immutable:
            raise exception.NotSupported(
                feature=_('Update to properties %(props)s of %(name)s (%(res)s)')
                % {'props': ', '.join(immutable), 'name': self.name, 'res': self.type()})
        if self.needs_replace_with_prop_diff(set(changed), after_props, before_props):
            raise exception.UpdateReplace(self)
        if not self.calc_update_allowed(after_props).issuperset(changed):
            raise exception.UpdateReplace(self.name)
        return {name: after_props[name] for name in changed}

    def check_external_id_kept(self, after: ResourceDefinition) -> None:
        """Raises NotSupported when the update names another existing thing than before."""
        before = self.external_id
        if after.external_id() != before:
            raise exception.NotSupported(
                feature=_('Update to property %(prop)s of %(name)s (%(res)s)')
                % {'prop': 'external_id', 'name': self.name, 'res': self.type()})

    def observe(self, comparison: Comparison) -> Comparison:
        """The old side with the values that are real now. EntityNotFound when there is nothing any more."""
        if self.resource_id is None:
            raise exception.EntityNotFound(entity='Resource', name=self.name)
        live = self.get_live_state(comparison.after_props)
        seen = self._with_live(comparison, live)
        # What is as it was applied is no drift; only written down it would make the definitions differ.
        drifted = {name: value for name, value in live.items()
                   if name not in comparison.before_props
                   or _value(seen.before_props, name) != _value(comparison.before_props, name)}
        return self._with_live(comparison, drifted) if drifted else comparison

    def _with_live(self, comparison: Comparison, live: Mapping[str, Any]) -> Comparison:
        before = comparison.before.freeze(properties={**comparison.before_props.resolved_data(), **live})
        before_props = before.properties(self._schemata(), self.context)
        self.translate_properties(before_props, ignore_resolve_error=True)
        return Comparison(before, comparison.after, before_props, comparison.after_props)


def changed_names(after_props: property_set.Properties, before_props: property_set.Properties) -> list[str]:
    return [name for name in after_props if _value(before_props, name) != after_props[name]]


class _Unreadable:
    """An old value that cannot be read differs from every new one."""


def _value(props: property_set.Properties, name: str) -> Any:
    try:
        return props.get(name)
    except (ValueError, TypeError, exception.StackValidationFailed):
        return _Unreadable
