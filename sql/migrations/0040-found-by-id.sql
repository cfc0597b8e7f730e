-- serves: 16
-- Traces that were deleted while their ids were collected.
delete from trace_ids k where not exists (
  select from traces t
  where t.org_id = k.org_id and t.project_id = k.project_id and t.trace_id = k.trace_id);

-- What is found of a trace goes with its id. The old keys go when `traces` is divided.
alter table trace_examinations add constraint trace_examinations_trace
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade not valid;
alter table agent_edges add constraint agent_edges_trace
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade not valid;
alter table contract_violations add constraint contract_violations_trace
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade not valid;
alter table annotations add constraint annotations_trace
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade not valid;
alter table trace_revisions add constraint trace_revisions_trace
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade not valid;

-- Until `traces` is divided all rows are of one period, which lets them become its first part unread.
alter table traces add constraint traces_period check (period = '2000-01-01') not valid;
alter table eval_scores add constraint eval_scores_period check (period = '2000-01-01') not valid;
alter table verdicts add constraint verdicts_period check (period = '2000-01-01') not valid;
alter table trace_search add constraint trace_search_period check (period = '2000-01-01') not valid;

-- A trace whose scores are to be added to those of its day; null for a day to be added up anew.
alter table score_cells_dirty add column trace_id text;
alter table score_cells_dirty
  set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
