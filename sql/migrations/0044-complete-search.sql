-- serves: 16, repeated
-- The trigger fills in the start.
update trace_search s set has_stems = s.has_stems
from (
  select org_id, project_id, trace_id from trace_search n
  where started_at is null and exists (
    select from traces t
    where t.org_id = n.org_id and t.project_id = n.project_id and t.trace_id = n.trace_id)
  order by org_id, project_id, trace_id limit 5000 for update) p
where s.org_id = p.org_id and s.project_id = p.project_id and s.trace_id = p.trace_id;
