-- serves: 16
alter table trace_examinations validate constraint trace_examinations_trace;
alter table agent_edges validate constraint agent_edges_trace;
alter table contract_violations validate constraint contract_violations_trace;
alter table annotations validate constraint annotations_trace;
alter table trace_revisions validate constraint trace_revisions_trace;
alter table traces validate constraint traces_period;
alter table eval_scores validate constraint eval_scores_period;
alter table verdicts validate constraint verdicts_period;
alter table trace_search validate constraint trace_search_period;
