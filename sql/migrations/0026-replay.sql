-- serves: 16
-- Traces that runners of clients execute again.

create table replay_batches (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  -- The version the traces are of; null for any.
  source_manifest_id uuid,
  -- The version the agent runs as; null only in a batch of links, whose replays may name none.
  target_manifest_id uuid,
  mode text not null check (mode in ('pull', 'push')),
  runner_url text,
  -- Tasks that a push batch has out at once.
  max_in_flight int not null default 8 check (max_in_flight between 1 and 50),
  -- The job that makes the tasks; null in a batch of links.
  job_id uuid,
  note text,
  -- It collects pairs that clients link, and has no open tasks.
  is_linked boolean not null default false,
  -- Null while the tasks are being made.
  prepared_at timestamptz(3),
  -- Why nothing is sent to the runner any more; null while it is.
  paused_reason text,
  created_by uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  canceled_at timestamptz(3),
  expires_at timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, project_id) references projects,
  foreign key (org_id, target_manifest_id) references manifests,
  check ((mode = 'push') = (runner_url is not null)),
  check (is_linked or target_manifest_id is not null)
);
create index replay_batches_newest on replay_batches (org_id, created_at desc, id desc);
-- One batch of links an agent.
create unique index replay_batches_linked on replay_batches (org_id, project_id, agent_name)
  where is_linked and canceled_at is null;

create table replay_tasks (
  org_id uuid not null,
  project_id uuid not null,
  batch_id uuid not null,
  id uuid not null,
  -- Its place in the batch, from 0.
  ordinal int not null,
  trace_id text not null,
  replayability text not null check (replayability in ('full', 'partial', 'none')),
  status text not null
    check (status in ('pending', 'leased', 'completed', 'failed', 'skipped', 'canceled')),
  -- How often it was given out.
  attempt int not null default 0,
  lease_token uuid,
  leased_by text,
  leased_until timestamptz(3),
  -- Why it was skipped or failed.
  reason text,
  replayed_trace_id text,
  eval_score float8 check (eval_score between 0 and 1),
  eval_verdict text check (eval_verdict in ('pass', 'review', 'fail')),
  comparison jsonb,
  -- SHA-256 over the canonical form of what ended it, so that the same again is known.
  submission_hash bytea,
  -- That of its batch.
  created_at timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (org_id, id),
  unique (org_id, batch_id, ordinal),
  foreign key (org_id, batch_id) references replay_batches on delete cascade,
  check ((status = 'leased') = (lease_token is not null)),
  check ((status = 'leased') = (leased_until is not null)),
  check ((status in ('completed', 'failed', 'skipped', 'canceled')) = (ended_at is not null))
);
-- In the order in which they are given out.
create index replay_tasks_open on replay_tasks (org_id, batch_id, ordinal)
  where status in ('pending', 'leased');
create index replay_tasks_leased on replay_tasks (org_id, batch_id, leased_until)
  where status = 'leased';
create index replay_tasks_trace on replay_tasks (org_id, project_id, trace_id);
