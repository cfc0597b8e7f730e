-- serves: 16
create unique index concurrently if not exists organizations_unique_handle on organizations (handle);
