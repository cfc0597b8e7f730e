-- serves: 16
-- Lists of jobs of a kind, and of those that came to no good end: a rare one among a million others would be
-- looked for among all.
create index concurrently if not exists jobs_by_kind on jobs (org_id, kind, created_at desc, id desc);
create index concurrently if not exists jobs_stopped on jobs (org_id, created_at desc, id desc)
  where state in ('failed', 'canceled');
