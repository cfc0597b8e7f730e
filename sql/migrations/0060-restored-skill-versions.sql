-- serves: 16
-- The job of the restore that made it, which may bring files of it; null once its files were changed.
alter table skill_versions add column restored_by uuid;

-- Restores of the release before could leave skills behind that had no version, which nothing can show.
delete from skills s where deleted_at is null and not exists (
  select from skill_versions v where v.org_id = s.org_id and v.skill_id = s.id);
