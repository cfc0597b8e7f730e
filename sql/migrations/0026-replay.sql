-- serves: 16
-- Traces that runners of clients execute again.

create table replay_batches (
  org_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  agent_name text not null,
  -- The version the traces are of; null for any.
  source_manifest_id uuid,
  -- The traces that were named, each once, or else what they were chosen by; both null in a batch of links.
  trace_ids text[],
  filters jsonb,
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
  -- Null while the tasks are being made, and in a batch of links.
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
  check (is_linked or target_manifest_id is not null),
  check (num_nonnulls(trace_ids, filters) = (not is_linked)::int),
  check (is_linked = (job_id is null))
);
create index replay_batches_newest on replay_batches (org_id, created_at desc, id desc);
create index replay_batches_job on replay_batches (org_id, job_id);
create index replay_batches_unprepared on replay_batches (org_id, id)
  where prepared_at is null and canceled_at is null and not is_linked;
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
  -- The name the worker gives itself; null for the runner of a push batch.
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
create index replay_tasks_pending on replay_tasks (org_id, batch_id, ordinal)
  where status = 'pending';
create index replay_tasks_trace on replay_tasks (org_id, project_id, trace_id);
-- Those that workers hold.
create index replay_tasks_leased on replay_tasks (org_id, batch_id, leased_until)
  where status = 'leased';

-- How far a batch is, so that lists of batches read no tasks. Claims do not write here, apart from the
-- first one: they would wait for each other. The triggers below keep it.
create table replay_tallies (
  org_id uuid not null,
  batch_id uuid not null,
  total int not null default 0,
  completed int not null default 0,
  failed int not null default 0,
  skipped int not null default 0,
  canceled int not null default 0,
  wins int not null default 0,
  losses int not null default 0,
  ties int not null default 0,
  -- How many comparisons have a difference of scores, and the sum of these.
  deltas int not null default 0,
  delta_sum numeric not null default 0,
  -- Some task was given out.
  is_started boolean not null default false,
  is_open boolean not null
    generated always as (total > completed + failed + skipped + canceled) stored,
  primary key (org_id, batch_id),
  foreign key (org_id, batch_id) references replay_batches on delete cascade
) with (fillfactor = 50);
create index replay_tallies_open on replay_tallies (org_id, batch_id) where is_open;

-- Adds tasks that are new, or that ended. Of several batches always in the same order, so that no two
-- transactions wait for each other.
create function tally_tasks(tasks replay_tasks[], are_new boolean) returns void language sql as $$
  insert into replay_tallies as t (org_id, batch_id, total, completed, failed, skipped, canceled,
    wins, losses, ties, deltas, delta_sum, is_started)
  select org_id, batch_id, case when are_new then count(*) else 0 end,
    count(*) filter (where status = 'completed'), count(*) filter (where status = 'failed'),
    count(*) filter (where status = 'skipped'), count(*) filter (where status = 'canceled'),
    count(*) filter (where comparison ->> 'outcome' = 'win'),
    count(*) filter (where comparison ->> 'outcome' = 'loss'),
    count(*) filter (where comparison ->> 'outcome' = 'tie'),
    count(comparison ->> 'score_delta'),
    coalesce(sum((comparison ->> 'score_delta')::numeric), 0),
    bool_or(status in ('leased', 'completed', 'failed'))
  from unnest(tasks) as k
  group by org_id, batch_id order by org_id, batch_id
  on conflict (org_id, batch_id) do update set
    total = t.total + excluded.total, completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed, skipped = t.skipped + excluded.skipped,
    canceled = t.canceled + excluded.canceled, wins = t.wins + excluded.wins,
    losses = t.losses + excluded.losses, ties = t.ties + excluded.ties,
    deltas = t.deltas + excluded.deltas, delta_sum = t.delta_sum + excluded.delta_sum,
    is_started = t.is_started or excluded.is_started
$$;

create function tally_added_tasks() returns trigger language plpgsql as $$
begin
  perform tally_tasks(array(select row(k.*)::replay_tasks from added k), true);
  return null;
end $$;
create trigger replay_tasks_added after insert on replay_tasks
  referencing new table as added for each statement execute function tally_added_tasks();

create function tally_changed_tasks() returns trigger language plpgsql as $$
begin
  if exists (select from changed where ended_at is not null) then
    perform tally_tasks(array(
      select row(k.*)::replay_tasks from changed k join before b using (org_id, id)
      where k.ended_at is not null and b.ended_at is null), false);
  end if;
  update replay_tallies t set is_started = true
  from (
    select org_id, batch_id from replay_tallies
    where not is_started
      and (org_id, batch_id) in (select org_id, batch_id from changed where status = 'leased')
    order by org_id, batch_id for update skip locked) as s
  where t.org_id = s.org_id and t.batch_id = s.batch_id;
  return null;
end $$;
create trigger replay_tasks_changed after update on replay_tasks
  referencing old table as before new table as changed
  for each statement execute function tally_changed_tasks();
