-- serves: 16
-- The job that sends the tasks of a push batch to its runner, the newest one; null before the first.
alter table replay_batches add column dispatch_job_id uuid;
