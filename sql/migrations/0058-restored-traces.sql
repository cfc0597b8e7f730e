-- serves: 16
-- When a backup brought the trace; null where it came at `created_at`.
alter table traces add column restored_at timestamptz(3);
