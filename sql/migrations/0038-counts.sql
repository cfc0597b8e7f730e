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
) with (fillfactor = 80);
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
) with (fillfactor = 80);
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
) with (fillfactor = 80);
create table edge_count_changes (like edge_counts);
create index edge_count_changes_project on edge_count_changes (org_id, project_id);

-- Rows of changes live for seconds, so their tables are vacuumed by their number and not by their share.
do $$
declare of_table text;
begin
  foreach of_table in array '{trace_count_changes, verdict_count_changes, edge_count_changes}'::text[] loop
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0,
      autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000)', of_table);
  end loop;
end $$;

create view all_trace_counts as select * from trace_counts union all select * from trace_count_changes;
create view all_verdict_counts as
  select * from verdict_counts union all select * from verdict_count_changes;
create view all_edge_counts as select * from edge_counts union all select * from edge_count_changes;

-- The statement that counts rows of a table, given by a query. Each row has a sign: 1 counts it in, -1 out.
create function counting(of_table text, signed_rows text) returns text language sql immutable as $$
  select format(case of_table
    when 'traces' then $count$
      insert into trace_count_changes
      select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, status, source_type,
        coalesce(manifest_id::text, ''),
        case when manifest_id is null then coalesce(manifest_hash, '') else '' end, period, sum(sign)
      from (%s) as signed group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having sum(sign) <> 0 $count$
    -- Decisions without a start are counted when they are completed.
    when 'verdicts' then $count$
      insert into verdict_count_changes
      select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, verdict,
        coalesce(eval_verdict, ''), coalesce(reason_code, ''), period, sum(sign),
        coalesce(sum(sign) filter (where quality_avg is not null), 0),
        coalesce(sum(sign * quality_avg::numeric), 0)
      from (%s) as signed where started_at is not null group by 1, 2, 3, 4, 5, 6, 7, 8
      having sum(sign) <> 0 or sum(sign * quality_avg::numeric) <> 0
        or sum(sign) filter (where quality_avg is not null) <> 0 $count$
    -- One that goes does not tell when the others were seen.
    when 'agent_edges' then $count$
      insert into edge_count_changes
      select org_id, project_id, parent, child, via, (seen_at at time zone 'UTC')::date, sum(sign),
        max(seen_at) filter (where sign > 0)
      from (%s) as signed group by 1, 2, 3, 4, 5, 6 having sum(sign) <> 0 $count$
    end, signed_rows)
$$;

-- Lets every change of a table be counted. Each trigger has a function of its own: which rows there are
-- depends on the event, and a statement that is not put together anew is planned once a session.
create function create_count_triggers(of_table text) returns void language plpgsql as $$
declare
  name text;
  event text;
  transition text;
  signed_rows text;
begin
  for name, event, transition, signed_rows in values
    ('counted_in', 'insert', 'new table as added', 'select *, 1 as sign from added'),
    ('counted_out', 'delete', 'old table as gone', 'select *, -1 as sign from gone'),
    ('counted_anew', 'update', 'old table as gone new table as added',
      'select *, 1 as sign from added union all select *, -1 from gone')
  loop
    name := of_table || '_' || name;
    execute format('create or replace function %I() returns trigger language plpgsql as %L',
      name, format('begin %s; return null; end', counting(of_table, signed_rows)));
    execute format('create trigger %I after %s on %I referencing %s for each statement
      execute function %I()', name, event, of_table, transition, name);
  end loop;
end $$;

select create_count_triggers('traces'), create_count_triggers('verdicts'),
  create_count_triggers('agent_edges');

-- The advisory lock of whoever moves counts from one table to the other or takes them away.
create function counts_lock() returns bigint language sql immutable as 'select 7304531::bigint';

-- Counts again all that there is. A statement sees one state: the changes it deletes are those that the rows
-- it counts have in them already. Traffic goes on meanwhile.
create function recount() returns void language plpgsql as $$
declare
  of_table text;
  counts text;
  changes text;
begin
  perform pg_advisory_xact_lock(counts_lock());
  for of_table, counts, changes in values
    ('traces', 'trace_counts', 'trace_count_changes'),
    ('verdicts', 'verdict_counts', 'verdict_count_changes'),
    ('agent_edges', 'edge_counts', 'edge_count_changes')
  loop
    execute format('with old as (delete from %I), older as (delete from %I) %s',
      changes, counts, counting(of_table, format('select *, 1 as sign from %I', of_table)));
  end loop;
end $$;
