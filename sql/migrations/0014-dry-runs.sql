-- A dry run into a project that does not exist creates none; project_id then only says who may see it.
alter table imports add column project_is_new boolean not null default false,
  add check (not project_is_new or dry_run);
