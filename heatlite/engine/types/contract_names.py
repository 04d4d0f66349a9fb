"""Names of the plug-in contract, and those in plug-ins that look like misspellings of them.

The engine never calls a method with a misspelt name, and never reads such an attribute: without a warning, the type
loads and does less than its author thinks.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from heatlite.engine.resource import Resource

VERBS = ('create', 'update', 'delete', 'suspend', 'resume', 'check', 'snapshot', 'adopt')
ARGUMENTS = {                                   # of methods that the engine calls, without self
    'handle_create': 0, 'handle_update': 3, 'handle_delete': 0, 'handle_suspend': 0, 'handle_resume': 0,
    'handle_check': 0, 'handle_snapshot': 0, 'handle_adopt': 1, 'find_existing': 0, 'handle_restore': 2,
    'handle_snapshot_delete': 1, 'handle_delete_snapshot': 1, '_resolve_attribute': 1, 'translation_rules': 1,
    'get_live_resource_data': 0, 'parse_live_resource_data': 2, 'add_dependencies': 1,
    **{f'check_{verb}_complete': 1 for verb in VERBS}, **{f'handle_{verb}_cancel': 1 for verb in VERBS}}
OTHER_METHODS = (
    '_needs_update', '_resolve_any_attribute', '_show_resource', 'add_explicit_dependencies', 'cancel_grace_period',
    'check_delete_snapshot_complete', 'get_attribute', 'get_live_state', 'get_nested_parameters_stack',
    'get_reference_id', 'FnGetAtt', 'FnGetRefId', 'handle_metadata_reset', 'handle_preempt', 'handle_signal',
    'has_unfinished_update', 'list_named', 'metadata_update', 'needs_replace', 'needs_replace_failed',
    'needs_replace_with_prop_diff', 'needs_replace_with_tmpl_diff', 'physical_resource_name', 'prepare_abandon',
    'prepare_for_replace', 'read_imported', 'regenerate_info_schema', 'restore_prev_rsrc', 'validate',
    'validate_template', 'was_released')
ATTRIBUTES = (
    'properties_schema', 'attributes_schema', 'update_policy_schema', 'update_allowed_properties', 'support_status',
    'default_client_name', 'required_service_extension', 'physical_resource_name_limit', 'no_signal_actions',
    'signal_needs_metadata_updates', 'always_replace_on_check_failed', 'strict_dependency', 'base_attributes_schema',
    'requires_deferred_auth', 'entity', 'poll_interval', 'idempotent_create')
NAMES = (*ARGUMENTS, *OTHER_METHODS, *ATTRIBUTES)
# Methods by which Heat's groups of servers make their members, and which ours do not call.
GROUP_HOOKS = ('_create_template', '_environment', '_get_conf_properties', '_get_instance_definition',
               '_get_resource_definition', '_lb_reload')
RESOURCE_MAPPINGS = ('available_resource_mapping', 'resource_mapping')     # the first that exists is used
CONSTRAINT_MAPPING = 'constraint_mapping'
MAPPINGS = (*RESOURCE_MAPPINGS, CONSTRAINT_MAPPING)
LIKENESS = 0.88                                 # handle_resize is not meant as handle_resume: 0.85


def misspelt(resource_class: type[Resource]) -> Iterator[tuple[str, str]]:
    """Yield (name in a plug-in's class, the name of the contract that was probably meant).

    A name is no misspelling where the class has the right one beside it: then it is a helper of that.
    """
    own = [owner for owner in resource_class.__mro__ if owner is not object and not is_built_in(owner)]
    known = {*NAMES, *(name for owner in resource_class.__mro__ if owner not in own for name in vars(owner))}
    defined = {name for owner in own for name in vars(owner)}
    for name in sorted(defined - known):
        meant = nearest(name, NAMES)
        if meant is not None and meant not in defined:
            yield name, meant


def uncalled_hooks(resource_class: type[Resource]) -> list[str]:
    """Return the methods of a plug-in's group of servers that Heat calls and the groups here do not."""
    if not hasattr(resource_class, 'member_definition'):
        return []
    return sorted({name for owner in resource_class.__mro__ if not is_built_in(owner) for name in vars(owner)
                   if name in GROUP_HOOKS})


def misspelt_mappings(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (name in a module, the name of the mapping function that was probably meant)."""
    found = set(names)
    for name in sorted(found - set(MAPPINGS)):
        meant = nearest(name, MAPPINGS)
        if meant is not None and meant not in found:
            yield name, meant


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` resembles. Constants and private names are compared only with their like."""
    if name.isupper() or name.startswith('__'):
        return None
    alike = {each.lower(): each for each in known
             if each.startswith('_') == name.startswith('_') and abs(len(each) - len(name)) <= 3}
    found = difflib.get_close_matches(name.lower(), alike, n=1, cutoff=LIKENESS)
    return alike[found[0]] if found else None


def is_built_in(owner: type) -> bool:
    """Whether a class is one of heatlite's own, not of a plug-in."""
    return owner.__module__.startswith('heatlite.') and not owner.__module__.startswith('heatlite.engine.plugins.')
