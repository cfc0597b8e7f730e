-- Organizations own everything. Every tenant table carries org_id first in its primary key, so that
-- a foreign key can never reach into another organization and the tables can be distributed by it.

create table organizations (
  id uuid primary key,
  name text not null check (name <> ''),
  plan text not null default 'free' check (plan in ('free', 'core', 'pro', 'enterprise')),
  billing_contact text,
  created_at timestamptz not null default now()
);

create table workspaces (
  org_id uuid not null references organizations,
  id uuid not null,
  name text not null check (name <> ''),
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (org_id, name)
);

-- Project names are unique in the organization, because clients name a project without its workspace.
create table projects (
  org_id uuid not null,
  id uuid not null,
  workspace_id uuid not null,
  name text not null check (name <> ''),
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (org_id, name),
  foreign key (org_id, workspace_id) references workspaces
);

create table api_keys (
  org_id uuid not null references organizations,
  id uuid not null,
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  key_prefix text not null,
  label text not null,
  scope text not null check (scope in ('global', 'workspace', 'project')),
  workspace_id uuid,
  project_id uuid,
  permissions text not null check (permissions in ('read', 'write', 'admin')),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  foreign key (org_id, workspace_id) references workspaces,
  foreign key (org_id, project_id) references projects,
  check ((scope = 'global') = (workspace_id is null and project_id is null)),
  check (scope <> 'workspace' or (workspace_id is not null and project_id is null)),
  check (scope <> 'project' or project_id is not null)
);

-- What a client sees of a long-running job. The queue row (pgboss.job) is only its way to a worker.
create table jobs (
  org_id uuid not null references organizations,
  id uuid not null,
  project_id uuid,
  kind text not null,
  queue_job_id uuid not null,
  state text not null default 'queued'
    check (state in ('queued', 'running', 'cancelling', 'succeeded', 'failed', 'cancelled')),
  -- The fencing token: each claim adds one, and every write of a worker names the claim it holds.
  attempt int not null default 0,
  interruptions int not null default 0,
  progress_done bigint not null default 0,
  progress_total bigint,
  progress_unit text,
  progress_note text,
  checkpoint jsonb,
  request jsonb not null default '{}',
  result jsonb,
  -- Path of the resource this job makes, relative to the API's base path.
  result_ref text,
  error jsonb,
  created_by uuid,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  primary key (org_id, id),
  foreign key (org_id, project_id) references projects,
  check ((finished_at is not null) = (state in ('succeeded', 'failed', 'cancelled'))),
  check (state not in ('running', 'succeeded') or started_at is not null),
  check (state not in ('cancelling', 'cancelled') or cancel_requested_at is not null),
  check (state <> 'failed' or error is not null)
);
create index jobs_newest on jobs (org_id, created_at desc, id desc);

-- One recorded execution of an agent. `content` holds spans and llm_calls as zstd-compressed JSON:
-- bytes, so that what Postgres text refuses (NUL, lone surrogates) survives. The counts beside it are
-- taken from the content once, at ingest, so that no later step has to open it.
create table traces (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  agent_name text not null,
  manifest_id uuid,
  manifest_hash text,
  session_id text,
  turn_index int,
  task_id text,
  parent_trace_id text,
  routing_id text,
  user_id text,
  environment text,
  release text,
  status text not null check (status in ('success', 'error', 'partial', 'running')),
  source_type text not null
    check (source_type in ('production', 'replayed', 'synthetic', 'distillation', 'manual', 'imported')),
  started_at timestamptz not null,
  ended_at timestamptz,
  user_input_preview text,
  final_output_preview text,
  error_code text,
  error_message text,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}',
  session_metadata jsonb not null default '{}',
  active_skills jsonb not null default '[]',
  skills_offered_in_prompt text[] not null default '{}',
  skills_loaded_by_agent text[] not null default '{}',
  skills_delivered text[] not null default '{}',
  tools_called text[] not null default '{}',
  span_count int not null,
  llm_call_count int not null,
  tool_call_count int not null,
  tool_error_count int not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cost_usd float8,
  llm_latency_ms float8,
  -- Why the content cannot be trained on (malformed.*); null when it can.
  malformed text,
  -- SHA-256 of the conversation in canonical form, without ids and times; null without a conversation.
  content_hash bytea,
  content bytea not null,
  created_at timestamptz not null default now(),
  primary key (org_id, project_id, trace_id),
  foreign key (org_id, project_id) references projects
);
-- The content is compressed already.
alter table traces alter column content set storage external;
create index traces_newest on traces (org_id, project_id, started_at desc, trace_id desc);
-- Copies of a conversation by age: the first of them is the one that is not a copy.
create index traces_content on traces (org_id, project_id, content_hash, started_at, created_at, trace_id)
  where content_hash is not null and status <> 'running';
create index traces_manifest on traces (org_id, project_id, manifest_id, trace_id)
  where manifest_id is not null;
create index traces_session on traces (org_id, project_id, session_id) where session_id is not null;

create table eval_scores (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  name text not null,
  source text not null,
  -- '' when the score is about the whole trace.
  span_id text not null default '',
  identifier text not null default '',
  score_id uuid not null,
  -- 0 to 1; null for a score that is only a label.
  value float8 check (value between 0 and 1),
  data_type text not null check (data_type in ('numeric', 'boolean', 'categorical', 'text')),
  label text,
  passed boolean,
  reason text,
  category text not null check (category in ('quality', 'compatibility')),
  source_kind text not null check (source_kind in ('builtin', 'third_party', 'custom', 'human')),
  source_label text,
  evaluator_version text,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_id, project_id, trace_id, name, source, span_id, identifier)
);

-- Immutable versions; the newest one of (project, agent) holds, '' being the project's own.
create table decision_policies (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null default '',
  version int not null,
  preset text not null check (preset in ('strict', 'default', 'permissive')),
  -- The complete settings, presets resolved.
  settings jsonb not null,
  content_hash text not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  primary key (org_id, project_id, agent_name, version),
  foreign key (org_id, project_id) references projects
);

-- The decision that holds for a trace now, with what it was decided on.
create table verdicts (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  verdict text not null check (verdict in ('keep', 'repair', 'replay', 'drop')),
  needs_review boolean not null,
  quality_avg float8,
  compat_avg float8,
  eval_verdict text check (eval_verdict in ('pass', 'review', 'fail')),
  reasons jsonb not null,
  counterfactual text,
  -- The older trace with the same conversation; null when there is none.
  duplicate_of text,
  policy_agent_name text not null,
  policy_version int not null,
  target_manifest_id uuid,
  decided_at timestamptz not null default now(),
  primary key (org_id, project_id, trace_id)
);

-- Written by the worker that judges a trace, so that ingest does not pay for the index.
create table trace_search (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  document tsvector not null,
  primary key (org_id, project_id, trace_id)
);
create index trace_search_document on trace_search using gin (document);

-- Cells of scores by day, recomputed from eval_scores by a worker.
create table score_cells (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  -- As the traces say; '' for none.
  manifest_id text not null,
  manifest_hash text not null,
  day date not null,
  name text not null,
  source text not null,
  -- '' while the trace has none.
  verdict text not null,
  n bigint not null,
  passed bigint not null,
  sum float8 not null,
  sum_squares float8 not null,
  min float8 not null,
  max float8 not null,
  -- 20 equal bins over 0..1.
  histogram bigint[] not null check (cardinality(histogram) = 20),
  -- Over the cell's sessions, with s the sum of a session's values and n their number: how many
  -- sessions, sum of s*s, of s*n and of n*n. A trace without a session is one of its own.
  clusters bigint not null,
  cluster_ss float8 not null,
  cluster_sn float8 not null,
  cluster_nn float8 not null,
  computed_at timestamptz not null default now(),
  primary key (org_id, project_id, agent_name, manifest_id, manifest_hash, day, name, source, verdict)
);

-- Which cells have to be recomputed; written in the transaction of the scores. Several rows may say
-- the same, so that no writer waits for another.
create table score_cells_dirty (
  org_id uuid not null,
  project_id uuid not null,
  id bigint generated always as identity,
  agent_name text not null,
  day date not null,
  primary key (org_id, project_id, id)
);

-- What clients add to the evaluators that are always on: checks of ours (json_valid, contains,
-- max_cost, max_steps), and names that clients push scores under (external).
create table evaluators (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  name text not null check (name <> ''),
  type text not null check (type in ('json_valid', 'contains', 'max_cost', 'max_steps', 'external')),
  -- '' for every agent of the project.
  agent_name text not null default '',
  description text,
  config jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (org_id, project_id, name, agent_name),
  foreign key (org_id, project_id) references projects
);

create table imports (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  job_id uuid not null,
  -- Format asked for or found; `auto` until the first record was seen.
  source text not null,
  agent_name text,
  dry_run boolean not null default false,
  -- Where the upload is; null once it is deleted.
  storage_key text,
  bytes_total bigint not null,
  -- How far the import is, for people; where it goes on from is the checkpoint of its job.
  bytes_done bigint not null default 0,
  lines_done bigint not null default 0,
  imported_count bigint not null default 0,
  skipped_count bigint not null default 0,
  error_count bigint not null default 0,
  scores_imported bigint not null default 0,
  -- The line at which the organization's quota stopped the import.
  capped_at_line bigint,
  created_at timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, project_id) references projects,
  foreign key (org_id, job_id) references jobs
);
create index imports_newest on imports (org_id, created_at desc, id desc);

create table import_errors (
  org_id uuid not null,
  import_id uuid not null,
  line bigint not null,
  code text not null,
  message text not null,
  primary key (org_id, import_id, line),
  foreign key (org_id, import_id) references imports on delete cascade
);

create table datasets (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  name text not null check (name <> ''),
  description text,
  dataset_type text not null check (dataset_type in ('sft', 'dpo', 'kto')),
  training_target_agent text,
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  unique (org_id, project_id, name),
  foreign key (org_id, project_id) references projects
);
create index datasets_newest on datasets (org_id, created_at desc, id desc);

create table dataset_versions (
  org_id uuid not null,
  dataset_id uuid not null,
  id uuid not null,
  version_number int not null,
  job_id uuid not null,
  -- Set once, in the transaction that makes the version ready.
  ready_at timestamptz,
  -- Frozen when the version is made: filters, split, seed, options with every default filled in.
  recipe jsonb not null,
  filter_hash text not null,
  parent_version_id uuid,
  created_by uuid,
  created_at timestamptz not null default now(),
  manifest_ids uuid[] not null default '{}',
  content_hash text,
  row_count bigint,
  split_counts jsonb,
  dropped_counts jsonb,
  token_estimate bigint,
  policy jsonb,
  -- Size and SHA-256 of the JSONL of several files, taken as one: by split, and `all` for all splits.
  streams jsonb not null default '{}',
  primary key (org_id, id),
  unique (org_id, dataset_id, version_number),
  foreign key (org_id, dataset_id) references datasets on delete cascade,
  foreign key (org_id, job_id) references jobs,
  check ((ready_at is not null) = (content_hash is not null and row_count is not null))
);

-- The row list of a version, fixed before anything is written; a rebuild uses it. `byte_offset` and
-- `byte_length` say where the row stands in the JSONL file of its split.
create table dataset_version_rows (
  org_id uuid not null,
  version_id uuid not null,
  ordinal bigint not null,
  trace_id text not null,
  row_hash bytea not null check (octet_length(row_hash) = 32),
  score_fingerprint bytea not null,
  split text not null check (split in ('train', 'validation', 'test')),
  shard int not null,
  byte_offset bigint not null,
  byte_length int not null,
  primary key (org_id, version_id, ordinal),
  foreign key (org_id, version_id) references dataset_versions on delete cascade
);

create table dataset_files (
  org_id uuid not null,
  version_id uuid not null,
  format text not null check (format in ('jsonl', 'parquet')),
  split text not null check (split in ('train', 'validation', 'test')),
  shard int not null,
  path text not null,
  storage_key text not null,
  row_count bigint not null,
  size_bytes bigint not null,
  sha256 text not null,
  primary key (org_id, version_id, format, split, shard),
  foreign key (org_id, version_id) references dataset_versions on delete cascade
);
