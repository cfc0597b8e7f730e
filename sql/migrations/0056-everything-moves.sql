-- serves: 16
-- What a pulled import reads, without keys: {base_url, project, workspace, since, until}. Null where a file
-- was uploaded; bytes_total is null where none was.
alter table imports add column connection jsonb;
alter table imports alter column bytes_total drop not null;

-- Days after which traces are deleted, by their creation; null keeps them.
alter table organizations add column retention_days int check (retention_days between 1 and 36500);
-- When its deletion was asked for; its keys are revoked from then on.
alter table organizations add column deletion_requested_at timestamptz(3);

-- The version came from a backup, which holds its definition and neither rows nor files.
alter table dataset_versions add column restored boolean not null default false;

-- A restored version keeps its id, which another organization may have too.
drop index skill_versions_id;
