-- serves: 16
-- What was there when the triggers came.
insert into trace_ids (org_id, project_id, trace_id, period)
select org_id, project_id, trace_id, period from traces
on conflict (org_id, project_id, trace_id) do nothing;

select recount();
