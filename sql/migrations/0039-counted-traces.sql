-- serves: 16
-- What was there when the triggers came. A statement sees one state: the changes it deletes are those that
-- the rows it counts have in them already. Decisions are counted as they are completed.
insert into trace_ids (org_id, project_id, trace_id, period)
select org_id, project_id, trace_id, period from traces
on conflict (org_id, project_id, trace_id) do nothing;

with counted as (delete from trace_count_changes)
insert into trace_counts
select org_id, project_id, agent_name, (started_at at time zone 'UTC')::date, status, source_type,
  coalesce(manifest_id::text, ''),
  case when manifest_id is null then coalesce(manifest_hash, '') else '' end, period, count(*)
from traces group by 1, 2, 3, 4, 5, 6, 7, 8, 9;

with counted as (delete from edge_count_changes)
insert into edge_counts
select org_id, project_id, parent, child, via, (seen_at at time zone 'UTC')::date, count(*), max(seen_at)
from agent_edges group by 1, 2, 3, 4, 5, 6;
