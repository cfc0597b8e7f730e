-- serves: 16
-- Uploads that are stored: few, whatever has been imported before.
create index concurrently if not exists imports_stored on imports (org_id, storage_key)
  include (bytes_total) where storage_key is not null;
