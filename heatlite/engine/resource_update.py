"""The type's part in updates: whether a changed definition means no change, an update or a replacement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import properties as property_set
from heatlite.engine.resource_reading import Reading
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language.translation import sources
from heatlite.planning import drift, marks


@dataclass(frozen=True)
class Comparison:
    """The old and the new definition of an update, with their properties."""

    before: ResourceDefinition
    after: ResourceDefinition
    before_props: property_set.Properties
    after_props: property_set.Properties


@dataclass(frozen=True)
class Observed:
    """What the service says of an object. `values`: the properties that it tells; `is_gone`: there is no object;
    `is_read`: the service was asked, which not every type does; `is_uncertain`: an action on the object failed or was
    interrupted, so it is created again (`repaired_in_place`)."""

    values: Mapping[str, object] = field(default_factory=dict)
    is_gone: bool = False
    is_read: bool = True
    is_uncertain: bool = False


class Updates(Reading):
    """A part of `Resource`. All methods are called on the *old* resource.

    `observed`: what `observe` has read; None before.
    """

    observed: Observed | None = None

    # --- for types to override ----------------------------------------------------------------------------

    def needs_replace(self, after_props: property_set.Properties) -> bool:
        """Whether it must be replaced, independent of what changed."""
        return False

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: property_set.Properties,
                                     before_props: property_set.Properties) -> bool:
        return False

    def needs_replace_with_tmpl_diff(self, tmpl_diff: ResourceDefinitionDiff) -> bool:
        return False

    def needs_replace_failed(self) -> bool:
        """Whether it must be replaced because it is FAILED, even if nothing changed."""
        return True

    def prepare_for_replace(self) -> None:
        """Called before its replacement is created: release what only one of the two can have."""

    def restore_prev_rsrc(self, convergence: bool = False) -> None:
        """Called when a rollback or an update returns to it: take back what `prepare_for_replace` released."""

    def was_released(self) -> bool:
        """Whether something is released that `restore_prev_rsrc` has to take back, also if no replacement was begun."""
        return False

    def has_unfinished_update(self) -> bool:
        """Whether an update that failed or was interrupted has stored what is left to be done, and the live state does
        not show it: `handle_update` is called also if the definition is the same."""
        return False

    def was_removed_first(self) -> bool:
        """Whether `prepare_for_replace` has removed the object itself: what returns to the resource replaces it."""
        return False

    def regenerate_info_schema(self, definition: ResourceDefinition) -> None:
        """Change the schemas before a comparison. For types whose schemas depend on the definition."""

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: dict[str, object]) -> object:
        """Update in place. This default raises UpdateReplace if a property changed."""
        if prop_diff:
            raise exception.UpdateReplace(self.name)
        if self.is_uncertain:
            getattr(self, 'handle_create')()        # noqa: B009 - types need not have one
        return None

    # --- the same object again ----------------------------------------------------------------------------

    @property
    def is_uncertain(self) -> bool:
        """Whether `handle_update` must create the object again, as it is not known what there is of it. Only for types
        that are `repaired_in_place`."""
        return self.observed is not None and self.observed.is_uncertain

    def object_key(self) -> object:
        """Return what two resources of this type have in common if they have the same object: by default the physical
        id. Types whose physical ids do not say it, or whose object may be there without one, return properties."""
        return self.resource_id

    def is_taken_over(self) -> bool:
        """Whether the resource that has taken the place of this one has the same object, which must not be deleted.

        Only rows of a replacement, or of one that was rolled back, have another in their place."""
        if self.replaced_by is None and self.replaces is None:
            return False
        present = self.stack.get(self.name)
        return (present is not None and present.id not in (None, self.id) and present.type() == self.type()
                and present.resource_id is not None and present.object_key() == self.object_key())

    def _is_repaired(self, is_failed: bool) -> bool:
        is_begun = self._record is not None and marks.read(self._record.state.fingerprint).applied == marks.DIRTY
        return self.repaired_in_place and self.resource_id is not None and (is_failed or is_begun)

    # --- called by the engine, in this order --------------------------------------------------------------

    def compare(self, after: ResourceDefinition) -> Comparison:
        """Return both definitions with their translated properties. The old one is the stored one."""
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
                      prev_resource: Updates, check_init_complete: bool = True) -> bool:
        """Whether the definitions differ. Raises UpdateReplace if a replacement is required in any case."""
        has_import = self.action == self.ADOPT and self.resource_id is not None
        is_failed = self.status == self.FAILED and not has_import       # else nothing was done to the object
        if self._is_repaired(is_failed):
            self.observed = replace(self.observed or Observed(is_read=False), is_uncertain=True)
        elif is_failed:
            checked_bad = self.action == self.CHECK and self.always_replace_on_check_failed
            if checked_bad or self.needs_replace_failed():
                raise exception.UpdateReplace(str(self))
        if self.state == (self.DELETE, self.COMPLETE):
            raise exception.UpdateReplace(str(self))
        if check_init_complete and self.state == (self.INIT, self.COMPLETE):
            raise exception.UpdateReplace(str(self))
        if self.needs_replace(after_props):
            raise exception.UpdateReplace(str(self))
        if self.is_uncertain or self.has_unfinished_update() or before != after.freeze():
            return True
        try:
            return bool(before_props != after_props)
        except (ValueError, TypeError, exception.StackValidationFailed):
            return True                 # the stored values no longer fit the schema

    def needs_update(self, comparison: Comparison, prev_resource: Updates | None = None) -> bool:
        return self._needs_update(comparison.after, comparison.before, comparison.after_props,
                                  comparison.before_props, prev_resource or self)

    def update_template_diff(self, after: ResourceDefinition, before: ResourceDefinition) -> ResourceDefinitionDiff:
        return after - before

    def changes(self, comparison: Comparison) -> tuple[ResourceDefinitionDiff, dict[str, object]]:
        """Return (template diff, property diff), the second and third argument of `handle_update`.

        Raises UpdateReplace, or NotSupported for a change of an immutable property.
        """
        template_diff = self.update_template_diff(comparison.after, comparison.before)
        if self.needs_replace_with_tmpl_diff(template_diff):
            raise exception.UpdateReplace(str(self))
        return template_diff, self.update_template_diff_properties(comparison.after_props, comparison.before_props)

    def update_template_diff_properties(self, after_props: property_set.Properties,
                                        before_props: property_set.Properties) -> dict[str, object]:
        """Return changed properties with their new values; None for one that was removed. Raises UpdateReplace,
        NotSupported."""
        changed = changed_names(after_props, before_props)
        if not changed:
            return {}
        immutable = sorted(name for name in changed if after_props.schema[name].immutable)
        if immutable:
            raise exception.NotSupported(
                feature=_('Update to properties %(props)s of %(name)s (%(res)s)')
                % {'props': ', '.join(immutable), 'name': self.name, 'res': self.type()})
        if self.needs_replace_with_prop_diff(set(changed), after_props, before_props):
            raise exception.UpdateReplace(str(self))
        if not self.calc_update_allowed(after_props).issuperset(changed):
            raise exception.UpdateReplace(self.name)
        return {name: after_props[name] for name in changed}

    @classmethod
    def updates_in_place(cls) -> bool:
        """Whether the type has a `handle_update` of its own; without one, any change replaces the resource."""
        return cls.handle_update is not Updates.handle_update

    def replacing(self, changed: set[str], comparison: Comparison) -> set[str]:
        """Return those of the `changed` properties that replace the resource, if changed alone; if none does, but all
        of them together do, they are returned."""
        allowed = self.calc_update_allowed(comparison.after_props) if self.updates_in_place() else set()
        forced = {name for name in changed if name not in allowed or self._replaces({name}, comparison)}
        return changed if not forced and len(changed) > 1 and self._replaces(changed, comparison) else forced

    def _replaces(self, changed: set[str], comparison: Comparison) -> bool:
        try:
            return self.needs_replace_with_prop_diff(changed, comparison.after_props, comparison.before_props)
        except Exception:                       # raised by the type, of values that are not known yet
            return False

    def check_external_id_kept(self, after: ResourceDefinition) -> None:
        """Raise NotSupported if the update changes the external id."""
        before = self.external_id
        if after.external_id() != before:
            raise exception.NotSupported(
                feature=_('Update to property %(prop)s of %(name)s (%(res)s)')
                % {'prop': 'external_id', 'name': self.name, 'res': self.type()})

    def observe(self, comparison: Comparison) -> Comparison:
        """Return the comparison with live values in the old definition. Raises EntityNotFound if the object is gone,
        and ObjectUncomparable.

        A property that names what its service does not find, such as an image that was deleted since, is left out.
        """
        self.observed = Observed(is_gone=True)
        if self.resource_id is None:
            raise exception.EntityNotFound(entity='Resource', name=self.name)
        tolerant = self._tolerant(comparison)
        try:
            live = self.get_live_state(tolerant.after_props)
        except exception.ObjectUncomparable:
            self.observed = Observed(is_read=False)
            raise
        live = _without_unresolved(tolerant.after_props, live)
        if comparison.before == comparison.after.freeze():
            comparison = tolerant               # what did not change need not be found
        self.observed = Observed(live, is_read=self.live_is_read)
        seen = self.with_live(comparison, live)
        # A live value that is the applied one is no drift; adding it would only make the definitions differ.
        drifted = {name: value for name, value in live.items()
                   if name not in comparison.before_props
                   or not drift.same(_value(comparison.before_props, name), _value(seen.before_props, name))}
        return self.with_live(comparison, drifted) if drifted else comparison

    def _tolerant(self, comparison: Comparison) -> Comparison:
        """Return the comparison with new properties in which names that their service does not find are not
        translated."""
        after_props = comparison.after.properties(self._schemata(), self.context)
        self.translate_properties(after_props, ignore_resolve_error=True)
        return replace(comparison, after_props=after_props)

    def with_live(self, comparison: Comparison, live: Mapping[str, object]) -> Comparison:
        """Return the comparison with these values in the old definition; what another property said for one of them
        is left out, as both may not be given."""
        given = comparison.before_props.resolved_data()
        moved = sources(self.translation_rules(comparison.before_props), live)
        before = comparison.before.freeze(properties={
            **{name: value for name, value in given.items() if name not in moved}, **live})
        before_props = before.properties(self._schemata(), self.context)
        self.translate_properties(before_props, ignore_resolve_error=True)
        return Comparison(before, comparison.after, before_props, comparison.after_props)


def changed_names(after_props: property_set.Properties, before_props: property_set.Properties) -> list[str]:
    return [name for name in after_props if _value(before_props, name) != after_props[name]]


def _without_unresolved(wanted: property_set.Properties, live: Mapping[str, object]) -> dict[str, object]:
    for name in live:
        _value(wanted, name)                    # its look-ups, if it was not read before
    return {name: value for name, value in live.items() if name not in wanted.unresolved}


class _Unreadable:
    """An old value that cannot be read differs from every new one."""


def _value(props: property_set.Properties, name: str) -> object:
    try:
        return props.get(name)
    except (ValueError, TypeError, exception.StackValidationFailed):
        return _Unreadable
