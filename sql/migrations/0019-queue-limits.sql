-- serves: 16
-- What operators allow an organization in a queue: nothing while it is paused, or so many jobs at once.
create table queue_limits (
  queue text not null,
  org_id uuid not null references organizations,
  paused_at timestamptz,
  -- Over all processes; null for as many as there are slots.
  max_running int check (max_running > 0),
  reason text,
  set_at timestamptz not null default now(),
  primary key (queue, org_id),
  check (paused_at is not null or max_running is not null)
);
