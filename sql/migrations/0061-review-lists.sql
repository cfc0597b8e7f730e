-- serves: 16
-- The traces that a person should look at, in the order of lists.
create index concurrently if not exists verdicts_reviewed
  on verdicts (org_id, project_id, started_at desc, trace_id desc) include (agent_name) where needs_review;
-- Repairs, newest first.
create index concurrently if not exists repair_batches_newest
  on repair_batches (org_id, created_at desc, id desc);
-- The traces that a repair repaired.
create index concurrently if not exists trace_revisions_batch
  on trace_revisions (org_id, batch_id, trace_id);
