-- serves: 16
-- Exports list the traces of a verdict.
create index concurrently if not exists verdicts_verdict
  on verdicts (org_id, verdict, project_id, trace_id);
