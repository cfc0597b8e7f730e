-- serves: 16
-- Lets an index of words or tags begin with the project (0046). First, so that a server without it is told
-- before anything was changed.
create extension if not exists btree_gin;

-- Traces and what belongs to them are kept by the month in which they came, so that all of a month can be
-- dropped at once. What was there before, and what the release before adds, is of the period 2000-01-01.
alter table traces add column period date not null default '2000-01-01';
alter table eval_scores add column period date not null default '2000-01-01';
alter table verdicts add column period date not null default '2000-01-01';
alter table trace_search add column period date not null default '2000-01-01';

-- The periods that can be stored in: the first days of months.
create table trace_periods (
  period date primary key check (period = date_trunc('month', period)),
  created_at timestamptz not null default now(),
  -- Its traces are gone. The row goes once their ids are.
  dropped_at timestamptz
);
insert into trace_periods (period) values ('2000-01-01');

-- The period of a trace that comes now: the newest that has begun.
create function storing_period() returns date language sql stable parallel safe as $$
  select max(period) from trace_periods where period <= (now() at time zone 'UTC')::date
$$;

-- Keeps the id of a trace unique in its project, and tells its period.
create table trace_ids (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  period date not null,
  primary key (org_id, project_id, trace_id) include (period)
);

-- The release before names no period. The ids of its traces come before the traces, as with those of this
-- one: two that store the same traces in one order wait for each other, and do not deadlock. A trace that is
-- there already gets its id from 0039, for which whoever sends it again does not wait.
alter table traces alter column period set default '-infinity';
create function identify_trace() returns trigger language plpgsql as $$
begin
  new.period := '2000-01-01';
  insert into trace_ids (org_id, project_id, trace_id, period)
  select new.org_id, new.project_id, new.trace_id, new.period
  where not exists (
    select from traces t
    where t.org_id = new.org_id and t.project_id = new.project_id and t.trace_id = new.trace_id)
  on conflict (org_id, project_id, trace_id) do nothing;
  return new;
end $$;
create trigger traces_identified before insert on traces for each row
  when (new.period = '-infinity') execute function identify_trace();

-- With a trace goes its id, and with that what was found of the trace (0040).
create function delete_trace_ids() returns trigger language plpgsql as $$
begin
  delete from trace_ids k using gone
  where k.org_id = gone.org_id and k.project_id = gone.project_id and k.trace_id = gone.trace_id
    and k.period = gone.period;
  return null;
end $$;
create trigger traces_forgotten after delete on traces
  referencing old table as gone for each statement execute function delete_trace_ids();
