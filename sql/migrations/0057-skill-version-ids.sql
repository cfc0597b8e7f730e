-- serves: 16
-- Versions by their id alone, of whichever organizations.
create index concurrently if not exists skill_versions_by_id on skill_versions (id);
