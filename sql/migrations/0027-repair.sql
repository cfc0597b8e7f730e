-- serves: 16
-- Recorded traces patched to fit another manifest; the traces themselves stay as they are.

create table repair_batches (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  job_id uuid not null,
  old_manifest_id uuid not null,
  new_manifest_id uuid not null,
  -- The rules that were approved, by index; null for all.
  rule_indices int[],
  -- All rules from the one manifest to the other, in the order of their indices.
  rules jsonb not null,
  engine_version text not null,
  repaired_count int not null default 0,
  skipped_count int not null default 0,
  failed_count int not null default 0,
  -- By index: the repaired traces that the rule was applied to.
  rule_counts jsonb not null default '{}',
  created_by uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  completed_at timestamptz(3),
  primary key (org_id, id),
  foreign key (org_id, project_id) references projects,
  foreign key (org_id, old_manifest_id) references manifests,
  foreign key (org_id, new_manifest_id) references manifests
);
-- Those whose jobs say how far they are, or why they ended.
create index repair_batches_incomplete on repair_batches (org_id, job_id) where completed_at is null;

-- The first traces of a batch that could not be repaired.
create table repair_failures (
  org_id uuid not null,
  batch_id uuid not null,
  trace_id text not null,
  code text not null,
  primary key (org_id, batch_id, trace_id),
  foreign key (org_id, batch_id) references repair_batches on delete cascade
);

-- What a trace says when it is patched to fit a manifest.
create table trace_revisions (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  target_manifest_id uuid not null,
  batch_id uuid not null,
  -- `revision` of the trace that was patched.
  trace_revision int not null,
  -- Of the rules of the batch those that were applied, by index.
  rules int[] not null,
  -- Compressed like the content of the trace.
  content bytea not null,
  -- SHA-256 of the content before compression.
  content_hash bytea not null,
  tools_called text[] not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, project_id, trace_id, target_manifest_id),
  foreign key (org_id, project_id, trace_id) references traces on delete cascade,
  foreign key (org_id, batch_id) references repair_batches,
  foreign key (org_id, target_manifest_id) references manifests
);
alter table trace_revisions alter column content set storage external;
create index trace_revisions_target on trace_revisions (org_id, target_manifest_id);
