-- serves: 16
-- The rows of a version may be millions: whoever deletes its dataset does not wait for them, `maint.retention`
-- deletes them in batches. To look up the version of each row was a part of storing it, too.
alter table dataset_version_rows drop constraint dataset_version_rows_org_id_version_id_fkey;
