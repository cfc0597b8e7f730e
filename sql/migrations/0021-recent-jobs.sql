-- serves: 16
-- Operators list the jobs of all organizations, newest first.
create index concurrently if not exists jobs_recent on jobs (created_at desc, id desc);
