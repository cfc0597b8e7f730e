-- What agents are made of, and what their traces have to do with it.

-- One version of an agent. Its components never change; status and parent do.
create table manifests (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  -- N of the label v<N>, in order of registration.
  version_number int not null check (version_number > 0),
  -- The label its client gave it.
  display_label text,
  -- `sha256:` and 64 digits; with the agent it is the manifest's identity.
  manifest_hash text not null check (manifest_hash ~ '^sha256:[0-9a-f]{64}$'),
  -- The same as its client writes it, with or without the prefix.
  shown_hash text not null,
  -- Over all components, where manifest_hash covers tools and models only, or what its client chose.
  contract_hash text not null,
  -- The version that was active before this one first was; null for an agent's first.
  parent_manifest_id uuid,
  status text not null check (status in ('draft', 'active', 'superseded')),
  detection_source text,
  is_closed_world boolean not null,
  components_count int not null,
  metadata jsonb not null default '{}',
  -- Taken under the agent's lock, so that an agent's versions have the order of their times.
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, id),
  unique (org_id, project_id, agent_name, manifest_hash),
  unique (org_id, project_id, agent_name, version_number),
  foreign key (org_id, project_id) references projects,
  foreign key (org_id, parent_manifest_id) references manifests
);
create unique index manifests_active on manifests (org_id, project_id, agent_name)
  where status = 'active';
create index manifests_newest on manifests (org_id, created_at desc, id desc);

create table manifest_components (
  org_id uuid not null,
  manifest_id uuid not null,
  component_type text not null,
  component_name text not null,
  component_version text,
  content_hash text not null,
  schema_json jsonb not null,
  primary key (org_id, manifest_id, component_type, component_name),
  foreign key (org_id, manifest_id) references manifests on delete cascade
);
create index manifest_components_name on manifest_components (org_id, component_type, component_name);

-- Each time a version became the active one: the transitions of an agent, in order.
create table manifest_activations (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  ordinal int not null,
  manifest_id uuid not null,
  -- The version that was active before; null at an agent's first.
  previous_manifest_id uuid,
  -- `reactivated` is a version that had been active before.
  kind text not null check (kind in ('created', 'reactivated')),
  activated_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, project_id, agent_name, ordinal),
  foreign key (org_id, manifest_id) references manifests,
  foreign key (org_id, previous_manifest_id) references manifests
);

create index traces_agent on traces (org_id, project_id, agent_name, started_at desc, trace_id desc)
  include (manifest_id);
create index traces_parent on traces (org_id, project_id, parent_trace_id)
  where parent_trace_id is not null;
-- Traces that came before the manifest they name.
create index traces_unlinked on traces (org_id, project_id, agent_name, manifest_hash)
  where manifest_id is null and manifest_hash is not null;
create index traces_fixture on traces (org_id, project_id, agent_name)
  where metadata @> '{"fixture": true}';

-- How a trace fits the active manifest of its agent, when it was recorded under another one.
create table trace_examinations (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  -- Its content has been opened to look for violations and edges.
  is_searched boolean not null,
  -- The manifest it was compared with; null where there is none, or it is the trace's own.
  target_manifest_id uuid,
  verdict text check (verdict in ('keep', 'repair', 'replay', 'drop')),
  needs_review boolean,
  reasons jsonb,
  repair_rules jsonb,
  examined_at timestamptz(3) not null default now(),
  primary key (org_id, project_id, trace_id),
  foreign key (org_id, project_id, trace_id) references traces on delete cascade,
  check ((verdict is null) = (target_manifest_id is null)),
  check ((verdict is null) = (needs_review is null)),
  check ((verdict is null) = (reasons is null)),
  check ((verdict is null) = (repair_rules is null))
);

-- Who gave work to whom, a row for each trace that tells so.
create table agent_edges (
  org_id uuid not null,
  project_id uuid not null,
  -- The trace that tells; of a `parent_trace` edge the child's.
  trace_id text not null,
  parent text not null,
  child text not null,
  via text not null check (via in ('handoff', 'parent_trace', 'span')),
  -- Start of the trace.
  seen_at timestamptz not null,
  primary key (org_id, project_id, trace_id, parent, child, via),
  foreign key (org_id, project_id, trace_id) references traces on delete cascade
);
create index agent_edges_seen on agent_edges (org_id, project_id, seen_at);
create index agent_edges_child on agent_edges (org_id, project_id, child);

create table contract_violations (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  trace_id text not null,
  -- Null for manifest_unknown.
  manifest_id uuid,
  kind text not null,
  severity text not null check (severity in ('high', 'medium', 'low')),
  subject text not null,
  position int not null,
  expected text,
  observed text,
  span_id text,
  -- Start of the trace.
  occurred_at timestamptz(3) not null,
  detected_at timestamptz(3) not null default now(),
  primary key (org_id, id),
  unique (org_id, project_id, trace_id, kind, subject, position),
  foreign key (org_id, project_id, trace_id) references traces on delete cascade,
  foreign key (org_id, manifest_id) references manifests
);
create index contract_violations_newest
  on contract_violations (org_id, project_id, agent_name, occurred_at desc, id desc);

-- Sub-agents that run under another manifest than the one their orchestrator pins them to; one row for
-- each manifest they were seen under.
create table subagent_drifts (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  subagent_name text not null,
  observed_hash text not null,
  expected_hash text not null,
  -- The orchestrator's manifest.
  manifest_id uuid not null,
  trace_sample_ids text[] not null,
  detected_at timestamptz(3) not null default now(),
  primary key (org_id, project_id, agent_name, subagent_name, observed_hash),
  foreign key (org_id, manifest_id) references manifests
);

-- An analysis of the traces of an old manifest against a new one. Complete when computed_at is set.
create table compat_reports (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  old_manifest_id uuid not null,
  new_manifest_id uuid not null,
  job_id uuid not null,
  trace_window_days int not null,
  -- Traces started in [window_start, window_end) are analysed.
  window_start timestamptz(3) not null,
  window_end timestamptz(3) not null,
  policy_name text not null,
  policy_version int not null,
  engine_version text not null,
  tally jsonb,
  created_at timestamptz(3) not null default now(),
  computed_at timestamptz(3),
  primary key (org_id, id),
  foreign key (org_id, old_manifest_id) references manifests,
  foreign key (org_id, new_manifest_id) references manifests,
  check ((computed_at is null) = (tally is null))
);
create index compat_reports_pair
  on compat_reports (org_id, new_manifest_id, old_manifest_id, created_at desc, id desc);

-- What a report comes to for a trace. Many traces come to the same: it is kept once.
create table compat_findings (
  org_id uuid not null,
  report_id uuid not null,
  -- From the SHA-256 of the rest.
  id uuid not null,
  verdict text not null check (verdict in ('keep', 'repair', 'replay', 'drop')),
  needs_review boolean not null,
  reasons jsonb not null,
  repair_rules jsonb not null,
  primary key (org_id, report_id, id),
  foreign key (org_id, report_id) references compat_reports on delete cascade
);

create table compat_episodes (
  org_id uuid not null,
  report_id uuid not null,
  started_at timestamptz(3) not null,
  trace_id text not null,
  finding_id uuid not null,
  primary key (org_id, report_id, started_at, trace_id),
  foreign key (org_id, report_id, finding_id) references compat_findings on delete cascade
);
