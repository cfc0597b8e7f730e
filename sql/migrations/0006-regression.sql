-- Checks before a manifest is deployed, and regressions found after.

create table regression_checks (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  candidate_manifest_id uuid not null,
  -- Null for an agent's first check.
  baseline_manifest_id uuid,
  job_id uuid not null,
  trace_window_days int not null,
  source text,
  pr_context jsonb,
  -- What was found; null until the check is complete.
  verdict text check (verdict in
    ('high_risk', 'medium_risk', 'low_risk', 'no_change', 'unverified', 'first_run')),
  findings jsonb,
  call_replay jsonb,
  human_decision text check (human_decision in ('accepted', 'rejected')),
  decision_note text,
  decided_by uuid,
  decided_at timestamptz(3),
  created_at timestamptz(3) not null,
  completed_at timestamptz(3),
  primary key (org_id, id),
  foreign key (org_id, candidate_manifest_id) references manifests,
  foreign key (org_id, baseline_manifest_id) references manifests,
  check ((completed_at is null) = (verdict is null) and (verdict is null) = (findings is null)),
  check ((decided_at is null) = (human_decision is null))
);
create index regression_checks_newest on regression_checks (org_id, created_at desc, id desc);

-- What the next check of an agent compares with: the candidate of its first or last accepted check.
create table regression_baselines (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  manifest_id uuid not null,
  check_id uuid not null,
  registered_at timestamptz(3) not null default now(),
  primary key (org_id, project_id, agent_name),
  foreign key (org_id, manifest_id) references manifests,
  foreign key (org_id, check_id) references regression_checks
);

-- A metric of an agent from version to version, as its last bisection saw it. Locked by the next one.
create table regression_series (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  metric text not null,
  -- The newest activation at that time, and how many looks at it were due.
  ordinal int not null default 0,
  looks int not null default 0,
  versions jsonb not null default '[]',
  computed_at timestamptz(3),
  primary key (org_id, project_id, agent_name, metric)
);

-- From one version on a metric was worse.
create table regression_findings (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  metric text not null,
  -- The activation that introduced it.
  ordinal int not null,
  -- Null where the change does not coincide with a version.
  manifest_id uuid,
  version_label text not null,
  previous_version_label text,
  -- Labels of the versions one of which introduced it with a probability of 90 %.
  candidates text[] not null,
  delta float8 not null check (delta < 0),
  relative_delta float8,
  p_value float8 not null,
  q_value float8 not null,
  trace_sample_ids text[] not null,
  -- Mean, variance and size of what was before.
  reference jsonb not null,
  detected_at timestamptz(3) not null,
  resolved_at timestamptz(3),
  resolution text check (resolution in ('recovered', 'reverted', 'manual')),
  resolution_note text,
  resolved_by uuid,
  primary key (org_id, id),
  unique (org_id, project_id, agent_name, metric, ordinal),
  foreign key (org_id, manifest_id) references manifests,
  check ((resolved_at is null) = (resolution is null))
);
create index regression_findings_detected on regression_findings (org_id, detected_at desc, id desc);

-- Which rows of datasets a trace is in.
create index dataset_version_rows_trace on dataset_version_rows (org_id, trace_id);
