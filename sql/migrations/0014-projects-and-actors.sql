-- A dry run into a project that does not exist creates none and belongs to none.
alter table imports alter column project_id drop not null,
  add check (project_id is not null or dry_run);

-- The key that asked for a check; its job, which knows it too, is not kept as long. Null where unknown.
alter table regression_checks add column created_by uuid;
update regression_checks r set created_by = j.created_by
from jobs j where j.org_id = r.org_id and j.id = r.job_id;

-- The key that registered or activated a version. Null where unknown, and for what traffic activated.
alter table manifests add column created_by uuid;
alter table manifest_activations add column created_by uuid;
