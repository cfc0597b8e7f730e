-- serves: 16
-- Conditions that many traces fulfil each and few fulfil together: lists of rows are compared, not rows.
create index concurrently if not exists traces_shared
  on traces using gin (project_id, agent_name, status, environment, source_type, tags, tools_called)
  with (gin_pending_list_limit = 256);
create index concurrently if not exists verdicts_scored
  on verdicts (org_id, project_id, verdict, eval_verdict, quality_avg)
  include (agent_name, started_at, trace_id) where quality_avg is not null;
-- Each kind is listed and counted in its own order.
create index concurrently if not exists contract_violations_kind
  on contract_violations (org_id, project_id, agent_name, kind, occurred_at desc, id desc);
