-- serves: 16
create index concurrently if not exists verdicts_incomplete
  on verdicts (org_id, project_id, trace_id) where started_at is null;
create index concurrently if not exists trace_search_incomplete
  on trace_search (org_id, project_id, trace_id) where started_at is null;
