-- serves: 16
-- The job of the restore that made it, which may bring files of it; null once its files were changed.
alter table skill_versions add column restored_by uuid;
