-- serves: 16, repeated
-- The trigger fills in the rest. In the order in which judgement locks them.
update verdicts v set reason_code = null
from (
  select org_id, project_id, trace_id from verdicts n
  where started_at is null and exists (
    select from traces t
    where t.org_id = n.org_id and t.project_id = n.project_id and t.trace_id = n.trace_id)
  order by org_id, project_id, trace_id limit 5000 for update) p
where v.org_id = p.org_id and v.project_id = p.project_id and v.trace_id = p.trace_id;
