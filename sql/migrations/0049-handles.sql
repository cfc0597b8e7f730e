-- serves: 16
-- The handle of an organization names it in the public registry.

-- Lower-case letters, digits and single hyphens, of at most so many characters; empty where nothing is left.
create function slug_of(name text, at_most int) returns text
  language sql immutable parallel safe
  return trim(both '-' from left(trim(both '-' from regexp_replace(
    lower(regexp_replace(normalize(name, nfkd), '[\u0300-\u036f]', '', 'g')),
    '[^a-z0-9]+', '-', 'g')), at_most));

alter table organizations add column handle text;

-- Releases that know no handles make organizations, too.
create function set_handle() returns trigger language plpgsql as $$
begin
  new.handle := coalesce(nullif(slug_of(new.name, 24), ''), 'org');
  -- Two that are made at once would else both find it free.
  perform pg_advisory_xact_lock(hashtextextended('handle ' || new.handle, 0));
  if exists (select from organizations where handle = new.handle) then
    new.handle := new.handle || '-'
      || left(encode(sha256(convert_to(new.id::text, 'UTF8')), 'hex'), 4);
  end if;
  return new;
end $$;

do $$
declare
  org record;
begin
  for org in select id, name from organizations order by created_at, id loop
    update organizations o
    set handle = slug || case when exists (select from organizations where handle = slug)
      then '-' || left(encode(sha256(convert_to(org.id::text, 'UTF8')), 'hex'), 4) else '' end
    from coalesce(nullif(slug_of(org.name, 24), ''), 'org') slug
    where o.id = org.id;
  end loop;
end $$;

create trigger set_handle before insert on organizations
  for each row when (new.handle is null) execute function set_handle();
alter table organizations alter column handle set not null,
  add constraint organizations_handle check (handle ~ '^[a-z0-9]+(-[a-z0-9]+)*$');
