"""The rows of a Heat database as values: fields are named after the columns of `schema`, JSON is still text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class HeatStack:
    id: str
    name: str | None
    tenant: str | None
    username: str | None
    owner_id: str | None
    parent_resource_name: str | None
    nested_depth: int | None
    action: str | None
    status: str | None
    status_reason: str | None
    raw_template_id: int
    prev_raw_template_id: int | None
    user_creds_id: int | None
    stack_user_project_id: str | None
    timeout: int | None
    disable_rollback: bool
    backup: bool | None
    convergence: bool | None
    current_traversal: str | None
    created_at: datetime | None
    updated_at: datetime | None
    deleted_at: datetime | None


@dataclass(frozen=True)
class HeatResource:
    id: int
    uuid: str | None
    name: str | None
    nova_instance: str | None
    stack_id: str
    action: str | None
    status: str | None
    status_reason: str | None
    rsrc_metadata: str | None
    properties_data: str | None
    properties_data_encrypted: bool | None
    rsrc_prop_data_id: int | None
    attr_data_id: int | None
    requires: str | None
    replaces: int | None
    replaced_by: int | None
    current_template_id: int | None
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True)
class ResourceData:
    id: int
    resource_id: int
    key: str | None
    value: str | None
    redact: bool | None
    decrypt_method: str | None


@dataclass(frozen=True)
class PropertiesData:
    id: int
    data: str | None
    encrypted: bool | None


@dataclass(frozen=True)
class HeatEvent:
    id: int
    uuid: str | None
    stack_id: str
    resource_action: str | None
    resource_status: str | None
    resource_name: str | None
    physical_resource_id: str | None
    resource_status_reason: str | None
    resource_type: str | None
    rsrc_prop_data_id: int | None
    created_at: datetime | None


@dataclass(frozen=True)
class RawTemplate:
    id: int
    template: str | None
    environment: str | None
    files: str | None
    files_id: int | None


@dataclass(frozen=True)
class TemplateFiles:
    id: int
    files: str | None


@dataclass(frozen=True, repr=False)
class UserCreds:
    id: int
    username: str | None
    password: str | None
    region_name: str | None
    decrypt_method: str | None
    tenant: str | None
    auth_url: str | None
    tenant_id: str | None
    trust_id: str | None
    trustor_user_id: str | None
    created_at: datetime | None


@dataclass(frozen=True)
class HeatSnapshot:
    id: str
    stack_id: str
    name: str | None
    data: str | None
    tenant: str
    action: str | None                      # None in rows of older releases
    status: str | None
    status_reason: str | None
    created_at: datetime | None


@dataclass(frozen=True)
class ResourceSnapshot:
    id: str
    snapshot_id: str
    resource_name: str
    data: str | None


@dataclass(frozen=True)
class HeatSoftwareConfig:
    id: str
    name: str | None
    group: str | None
    config: str | None
    tenant: str
    created_at: datetime | None


@dataclass(frozen=True)
class HeatSoftwareDeployment:
    id: str
    config_id: str
    server_id: str
    action: str | None
    status: str | None
    status_reason: str | None
    input_values: str | None
    output_values: str | None
    tenant: str
    stack_user_project_id: str | None
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True)
class HeatTree:
    """A root stack and all stacks below it, the root first, parents before their children, with all their rows."""

    stacks: Sequence[HeatStack]
    mark: str                               # changes whenever a row of the tree does, see `source.marks`
    is_too_deep: bool = False               # it has stacks below these, which were not read
    resources: Mapping[str, Sequence[HeatResource]] = field(default_factory=dict)      # by stack, in the order of ids
    data: Mapping[int, Sequence[ResourceData]] = field(default_factory=dict)       # by resource
    properties: Mapping[int, PropertiesData] = field(default_factory=dict)
    events: Sequence[HeatEvent] = ()            # in the order of ids
    templates: Mapping[int, RawTemplate] = field(default_factory=dict)
    files: Mapping[int, TemplateFiles] = field(default_factory=dict)
    credentials: Mapping[int, UserCreds] = field(default_factory=dict)
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    snapshots: Mapping[str, Sequence[HeatSnapshot]] = field(default_factory=dict)
    saved: Mapping[str, Sequence[ResourceSnapshot]] = field(default_factory=dict)  # by snapshot

    @property
    def root(self) -> HeatStack:
        return self.stacks[0]
