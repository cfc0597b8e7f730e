-- serves: 16
alter table datasets add column license text not null default 'other';

alter table dataset_versions
  -- What redaction took out: its ruleset, a count for each class, how many rows; null where none was asked.
  add column redaction jsonb,
  -- At most 1,000 samples of rows that were left out because they were near to a row that was kept.
  add column near_duplicates jsonb not null default '[]' check (jsonb_typeof(near_duplicates) = 'array'),
  -- What the rows are made of, for the card; null in versions that the release before built.
  add column composition jsonb,
  -- How many traces of the rows came in which month, by its first day, when they were selected. Null in
  -- versions that the release before built.
  add column trace_months jsonb;

-- The other trace of a pair.
alter table dataset_version_rows add column rejected_trace_id text;

-- Traces of the rows of versions that were deleted one by one; those of a dropped month are not here. Of a
-- version that is ready, no more than about 1,000 are noted.
create table dataset_deleted_traces (
  org_id uuid not null,
  version_id uuid not null,
  trace_id text not null,
  -- The month in which the trace came.
  period date not null,
  -- The version was not ready: whether it has a row of the trace shows in its rows.
  while_built boolean not null,
  primary key (org_id, version_id, trace_id) include (period, while_built),
  foreign key (org_id, version_id) references dataset_versions (org_id, id) on delete cascade
);

-- Current versions that became stale because a manifest was activated; kept for 90 days.
create table dataset_staleness_events (
  org_id uuid not null,
  id uuid not null,
  version_id uuid not null,
  -- The one that was activated, and the one that it superseded.
  manifest_id uuid not null,
  previous_manifest_id uuid not null,
  created_by uuid,
  occurred_at timestamptz(3) not null default now(),
  primary key (org_id, id),
  foreign key (org_id, version_id) references dataset_versions (org_id, id) on delete cascade
);
create index dataset_staleness_events_newest
  on dataset_staleness_events (org_id, occurred_at desc, id desc);
create index dataset_staleness_events_of_version on dataset_staleness_events (org_id, version_id);
create index dataset_staleness_events_by_age on dataset_staleness_events (occurred_at);

-- What a project has redacted besides the classes, and what it never wants redacted.
create table redaction_settings (
  org_id uuid not null references organizations (id) on delete cascade,
  project_id uuid not null,
  patterns jsonb not null default '[]',
  keep text[] not null default '{}',
  updated_by uuid,
  updated_at timestamptz not null default now(),
  primary key (org_id, project_id),
  foreign key (org_id, project_id) references projects (org_id, id) on delete cascade
);

-- What jobs that have not ended need and nobody may read, sealed with the master key.
alter table jobs add column has_secret boolean not null default false;
create table job_secrets (
  org_id uuid not null,
  job_id uuid not null,
  sealed bytea not null check (length(sealed) > 0),
  primary key (org_id, job_id),
  foreign key (org_id, job_id) references jobs (org_id, id) on delete cascade
);

-- Whichever statement ends a job that was given a secret deletes that.
create function end_job_secret() returns trigger language plpgsql as $$
begin
  delete from job_secrets where org_id = new.org_id and job_id = new.id;
  return null;
end $$;
create trigger jobs_end_secret after update of finished_at on jobs for each row
  when (new.has_secret and old.finished_at is null and new.finished_at is not null)
  execute function end_job_secret();

-- Versions sent to a hub. What became of a push is the state of its job.
create table dataset_pushes (
  org_id uuid not null,
  id uuid not null,
  dataset_id uuid not null,
  version_id uuid not null,
  job_id uuid not null,
  repo_id text not null,
  revision text not null,
  private boolean not null,
  create_pr boolean not null,
  commit_message text,
  hub_url text not null,
  commit_oid text,
  commit_url text,
  -- Null before the push begins.
  files_total int,
  files_done int not null default 0 check (files_done between 0 and coalesce(files_total, 0)),
  bytes_done bigint not null default 0 check (bytes_done >= 0),
  created_at timestamptz not null default now(),
  primary key (org_id, id),
  check ((commit_oid is null) = (commit_url is null)),
  foreign key (org_id, dataset_id) references datasets (org_id, id) on delete cascade,
  foreign key (org_id, version_id) references dataset_versions (org_id, id) on delete cascade,
  foreign key (org_id, job_id) references jobs (org_id, id) on delete cascade
);
create index dataset_pushes_of_dataset
  on dataset_pushes (org_id, dataset_id, created_at desc, id desc);
create index dataset_pushes_of_version
  on dataset_pushes (org_id, version_id, created_at desc, id desc);
create index dataset_pushes_of_job on dataset_pushes (org_id, job_id);
create index dataset_pushes_by_age on dataset_pushes (created_at);

-- Whose pushes with the token of the installation a repository is for: those of the first to push.
create table hub_repos (
  hub_url text not null,
  -- In lower case, by which hubs tell repositories apart.
  repo_id text not null,
  org_id uuid not null references organizations (id) on delete cascade,
  primary key (hub_url, repo_id)
);
create index hub_repos_of_organization on hub_repos (org_id);

-- The correction that was given before does not hold any more.
alter table annotations add column correction_withdrawn boolean not null default false;

-- Traces that were corrected when a correction did not change a decision yet. Each is judged once more.
create table corrected_traces_due (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  -- Until then the workers of the release before may be there.
  due_at timestamptz not null default now() + interval '1 hour',
  primary key (org_id, project_id, trace_id),
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade
);
insert into corrected_traces_due (org_id, project_id, trace_id)
select org_id, project_id, trace_id from trace_ids
where (org_id, project_id, trace_id) in (
  select org_id, project_id, trace_id from annotations where corrected_output is not null)
for key share;
