-- serves: 16
-- Traces and what belongs to them are kept by the month in which they came, so that all of a month can be
-- dropped at once. What was there before, and what the release before adds, is of the period 2000-01-01.
alter table traces add column period date not null default '2000-01-01';
alter table eval_scores add column period date not null default '2000-01-01';
alter table verdicts add column period date not null default '2000-01-01';
alter table trace_search add column period date not null default '2000-01-01';

-- The periods that can be stored in: the first days of months.
create table trace_periods (
  period date primary key check (period = date_trunc('month', period)),
  created_at timestamptz not null default now()
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

-- The release before adds traces without their ids.
create function add_trace_ids() returns trigger language plpgsql as $$
begin
  insert into trace_ids (org_id, project_id, trace_id, period)
  select org_id, project_id, trace_id, period from added order by org_id, project_id, trace_id
  on conflict (org_id, project_id, trace_id) do nothing;
  return null;
end $$;
create trigger traces_identified after insert on traces
  referencing new table as added for each statement execute function add_trace_ids();

-- With an id goes all that was found of its trace.
create function delete_trace_ids() returns trigger language plpgsql as $$
begin
  delete from trace_ids k using gone
  where k.org_id = gone.org_id and k.project_id = gone.project_id and k.trace_id = gone.trace_id
    and k.period = gone.period;
  return null;
end $$;
create trigger traces_forgotten after delete on traces
  referencing old table as gone for each statement execute function delete_trace_ids();
