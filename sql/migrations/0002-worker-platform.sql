-- Queues that workers are to leave alone; jobs may still be added to them.
create table queue_control (
  queue text primary key,
  paused_at timestamptz not null default now(),
  reason text
);

-- `queue_attempt` is the attempt of the queue row whose claim holds the job; a worker that fetched the
-- same row at an earlier one has lost it. `rescued_at` is set when the queue row had vanished and the
-- job got a new one, which happens once. `request_id` is that of the idempotency key it was made under.
alter table jobs
  add column queue_attempt int,
  add column rescued_at timestamptz,
  add column request_id uuid;
create index jobs_waiting on jobs (org_id, kind) where state = 'queued';
create index jobs_claimed on jobs (id) where state in ('running', 'cancelling');
create index jobs_ended on jobs (org_id, kind, finished_at desc) where finished_at is not null;
create index jobs_request on jobs (org_id, request_id) where request_id is not null;
create index jobs_expiring on jobs (finished_at) where finished_at is not null;
create index imports_job on imports (org_id, job_id);
create index dataset_versions_job on dataset_versions (org_id, job_id);

-- One row for each time a worker took a job of `jobs`.
create table job_attempts (
  org_id uuid not null,
  job_id uuid not null,
  attempt int not null,
  -- Host and process.
  worker text not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text
    check (outcome in ('succeeded', 'failed', 'cancelled', 'released', 'continued', 'lost')),
  error jsonb,
  primary key (org_id, job_id, attempt),
  foreign key (org_id, job_id) references jobs on delete cascade,
  check ((ended_at is not null) = (outcome is not null))
);

-- What a request with an Idempotency-Key did. While it is being worked on it has a claim, which is
-- renewed until the answer is there; when the claim runs out without one, the process has died.
create table idempotency_keys (
  org_id uuid not null references organizations,
  -- The API key that sent the request: the keys of one never meet those of another.
  api_key_id uuid not null,
  key text not null,
  -- SHA-256 of method, path and body; null until a streamed body has been read to its end.
  fingerprint bytea,
  claim uuid not null,
  claimed_until timestamptz not null,
  -- The same when the request is sent again after its process died, so that what it made is found.
  request_id uuid not null,
  status smallint,
  headers jsonb,
  -- Sealed with the caller's API key, because an answer may hold a secret.
  body bytea,
  created_at timestamptz not null default now(),
  primary key (org_id, api_key_id, key),
  check ((status is null) = (headers is null) and (status is null) = (body is null)),
  check (status is null or fingerprint is not null)
);
create index idempotency_keys_age on idempotency_keys (created_at);
