-- serves: 16
-- The keys of partitions contain what divides them.
create unique index concurrently if not exists traces_key on traces (org_id, project_id, trace_id, period);
create unique index concurrently if not exists verdicts_key
  on verdicts (org_id, project_id, trace_id, period);
create unique index concurrently if not exists trace_search_key
  on trace_search (org_id, project_id, trace_id, period);
create unique index concurrently if not exists eval_scores_key
  on eval_scores (org_id, project_id, trace_id, name, source, span_id, identifier, period);

-- Each filter of the list of traces has its own, in the order of the list.
create index concurrently if not exists traces_of_manifest
  on traces (org_id, project_id, manifest_id, started_at desc, trace_id desc) where manifest_id is not null;
create index concurrently if not exists traces_of_hash
  on traces (org_id, project_id, manifest_hash, started_at desc, trace_id desc)
  where manifest_hash is not null;
-- Traces that came before the manifest they name.
create index concurrently if not exists traces_untied
  on traces (org_id, project_id, agent_name, manifest_hash, started_at desc, trace_id desc)
  where manifest_id is null and manifest_hash is not null;
create index concurrently if not exists traces_of_session
  on traces (org_id, project_id, session_id, started_at desc, trace_id desc) where session_id is not null;
create index concurrently if not exists traces_of_task
  on traces (org_id, project_id, task_id, started_at desc, trace_id desc) where task_id is not null;
create index concurrently if not exists traces_of_user
  on traces (org_id, project_id, user_id, started_at desc, trace_id desc) where user_id is not null;
create index concurrently if not exists traces_of_parent
  on traces (org_id, project_id, parent_trace_id, started_at desc, trace_id desc)
  where parent_trace_id is not null;
create index concurrently if not exists traces_of_environment
  on traces (org_id, project_id, environment, started_at desc, trace_id desc)
  where environment is not null;
create index concurrently if not exists traces_of_status
  on traces (org_id, project_id, status, started_at desc, trace_id desc);
create index concurrently if not exists traces_of_source
  on traces (org_id, project_id, source_type, started_at desc, trace_id desc);
-- The many traces without tags or tools cost nothing here.
create index concurrently if not exists traces_with_tags
  on traces using gin (project_id, tags) with (gin_pending_list_limit = 256) where tags <> '{}';
create index concurrently if not exists traces_with_tools
  on traces using gin (project_id, tools_called) with (gin_pending_list_limit = 256)
  where tools_called <> '{}';

create index concurrently if not exists verdicts_newest
  on verdicts (org_id, project_id, verdict, started_at desc, trace_id desc) include (agent_name);
create index concurrently if not exists verdicts_eval
  on verdicts (org_id, project_id, eval_verdict, started_at desc, trace_id desc)
  where eval_verdict is not null;
create index concurrently if not exists verdicts_quality
  on verdicts (org_id, project_id, quality_avg) include (started_at, trace_id)
  where quality_avg is not null;

create index concurrently if not exists trace_search_words
  on trace_search using gin (project_id, document) with (gin_pending_list_limit = 256);
create index concurrently if not exists trace_search_newest
  on trace_search (org_id, project_id, started_at desc, trace_id desc);

-- The marks of a day.
create index concurrently if not exists score_cells_dirty_day
  on score_cells_dirty (org_id, project_id, agent_name, day, id);
