-- serves: 16
-- The id in the mark of the storage folder. A folder without it is not mounted, or belongs to another
-- database, whose files would look like ones that nobody needs.
create table storage_marks (
  id uuid primary key,
  is_marked boolean not null default false,
  only_one boolean not null default true unique check (only_one)
);
insert into storage_marks (id) values (gen_random_uuid());

-- What an upload under way takes of its organization's room. One whose process was killed stops being
-- renewed, and counts no more.
create table upload_reservations (
  org_id uuid not null references organizations,
  id uuid not null,
  bytes bigint not null check (bytes >= 0),
  renewed_at timestamptz not null default now(),
  primary key (org_id, id)
);
