-- serves: 16
-- Which pairs reject a trace.
create index concurrently if not exists dataset_version_rows_rejected
  on dataset_version_rows (org_id, rejected_trace_id) where rejected_trace_id is not null;
-- Versions that are built, or were not to the end.
create index concurrently if not exists dataset_versions_unready
  on dataset_versions (org_id, dataset_id) where ready_at is null;
