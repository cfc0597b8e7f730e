-- serves: 16
-- Which migrations ran, and the oldest code each of them serves: the newest schema number which that
-- code knows. A release runs on a schema ahead of it for as long as the schema serves it.
--
-- `schema_migrations` stays for releases up to schema 16, which read only its greatest number and refuse
-- one they do not know. A migration is entered there once it no longer serves them, so that they go on
-- until then and are refused from then on. What is in it already served nobody older than itself.
create table applied_migrations (
  number int primary key,
  name text not null,
  serves int not null check (serves <= number),
  applied_at timestamptz not null default now()
);
insert into applied_migrations (number, name, serves, applied_at)
  select number, name, number, applied_at from schema_migrations;
