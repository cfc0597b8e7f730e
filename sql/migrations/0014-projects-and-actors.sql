-- A dry run into a project that does not exist creates none; project_id then only says who may see it.
alter table imports add column project_is_new boolean not null default false,
  add check (not project_is_new or dry_run);

-- The key that asked for a check; its job, which knows it too, is not kept as long. Null where unknown.
alter table regression_checks add column created_by uuid;
update regression_checks r set created_by = j.created_by
from jobs j where j.org_id = r.org_id and j.id = r.job_id;

-- The key that registered or activated a version. Null where unknown, and for what traffic activated.
alter table manifests add column created_by uuid;
alter table manifest_activations add column created_by uuid;
