-- serves: 16
-- How many traces, decisions and edges there are. Every change adds rows of its own, so that nobody waits
-- for a counter; maintenance adds them up. The sum of both tables is what there is.

create table trace_counts (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  -- Of the start, in UTC.
  day date not null,
  status text not null,
  source_type text not null,
  -- '' for none; the hash only of traces that are tied to no manifest.
  manifest_id text not null,
  manifest_hash text not null,
  period date not null,
  n bigint not null,
  primary key (org_id, project_id, agent_name, day, status, source_type, manifest_id, manifest_hash, period)
);
create table trace_count_changes (like trace_counts);
create index trace_count_changes_project on trace_count_changes (org_id, project_id);

create table verdict_counts (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  day date not null,
  verdict text not null,
  -- '' for none.
  eval_verdict text not null,
  reason_code text not null,
  period date not null,
  n bigint not null,
  -- How many have a quality, and the sum of these.
  scored bigint not null,
  quality_sum numeric not null,
  primary key (org_id, project_id, agent_name, day, verdict, eval_verdict, reason_code, period)
);
create table verdict_count_changes (like verdict_counts);
create index verdict_count_changes_project on verdict_count_changes (org_id, project_id);

create table edge_counts (
  org_id uuid not null,
  project_id uuid not null,
  parent text not null,
  child text not null,
  via text not null,
  -- Of the last time it was seen.
  day date not null,
  n bigint not null,
  last_seen_at timestamptz,
  primary key (org_id, project_id, parent, child, via, day)
);
create table edge_count_changes (like edge_counts);
create index edge_count_changes_project on edge_count_changes (org_id, project_id);

create function count_traces() returns trigger language plpgsql as $$
begin
  if TG_OP = 'INSERT' then
    insert into trace_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, status, source_type,
      coalesce(manifest_id::text, ''),
      case when manifest_id is null then coalesce(manifest_hash, '') else '' end, period, count(*)
    from added group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
  elsif TG_OP = 'DELETE' then
    insert into trace_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, status, source_type,
      coalesce(manifest_id::text, ''),
      case when manifest_id is null then coalesce(manifest_hash, '') else '' end, period, -count(*)
    from gone group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
  else
    insert into trace_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, status, source_type,
      coalesce(manifest_id::text, ''),
      case when manifest_id is null then coalesce(manifest_hash, '') else '' end, period, sum(n)
    from (select *, 1 as n from added union all select *, -1 from gone) as both_states
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having sum(n) <> 0;
  end if;
  return null;
end $$;

create function count_verdicts() returns trigger language plpgsql as $$
begin
  if TG_OP = 'INSERT' then
    insert into verdict_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, verdict,
      coalesce(eval_verdict, ''), coalesce(reason_code, ''), period, count(*), count(quality_avg),
      coalesce(sum(quality_avg::numeric), 0)
    from added where started_at is not null group by 1, 2, 3, 4, 5, 6, 7, 8;
  elsif TG_OP = 'DELETE' then
    insert into verdict_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, verdict,
      coalesce(eval_verdict, ''), coalesce(reason_code, ''), period, -count(*), -count(quality_avg),
      -coalesce(sum(quality_avg::numeric), 0)
    from gone where started_at is not null group by 1, 2, 3, 4, 5, 6, 7, 8;
  else
    insert into verdict_count_changes
    select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, verdict,
      coalesce(eval_verdict, ''), coalesce(reason_code, ''), period, sum(n),
      sum(case when quality_avg is not null then n else 0 end), coalesce(sum(n * quality_avg::numeric), 0)
    from (select *, 1 as n from added union all select *, -1 from gone) as both_states
    where started_at is not null group by 1, 2, 3, 4, 5, 6, 7, 8
    having sum(n) <> 0 or sum(case when quality_avg is not null then n else 0 end) <> 0
      or sum(n * quality_avg::numeric) <> 0;
  end if;
  return null;
end $$;

create function count_edges() returns trigger language plpgsql as $$
begin
  if TG_OP = 'INSERT' then
    insert into edge_count_changes
    select org_id, project_id, parent, child, via, (seen_at at time zone 'UTC')::date, count(*), max(seen_at)
    from added group by 1, 2, 3, 4, 5, 6;
  else
    insert into edge_count_changes
    select org_id, project_id, parent, child, via, (seen_at at time zone 'UTC')::date, -count(*), null
    from gone group by 1, 2, 3, 4, 5, 6;
  end if;
  return null;
end $$;

create trigger traces_counted_in after insert on traces
  referencing new table as added for each statement execute function count_traces();
create trigger traces_counted_anew after update on traces
  referencing old table as gone new table as added for each statement execute function count_traces();
create trigger traces_counted_out after delete on traces
  referencing old table as gone for each statement execute function count_traces();
create trigger verdicts_counted_in after insert on verdicts
  referencing new table as added for each statement execute function count_verdicts();
create trigger verdicts_counted_anew after update on verdicts
  referencing old table as gone new table as added for each statement execute function count_verdicts();
create trigger verdicts_counted_out after delete on verdicts
  referencing old table as gone for each statement execute function count_verdicts();
create trigger agent_edges_counted_in after insert on agent_edges
  referencing new table as added for each statement execute function count_edges();
create trigger agent_edges_counted_out after delete on agent_edges
  referencing old table as gone for each statement execute function count_edges();
