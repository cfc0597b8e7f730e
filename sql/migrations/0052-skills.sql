-- serves: 16
-- Skills, which belong to an organization, and the public registry of those that were published.

create table skills (
  org_id uuid not null references organizations,
  id uuid not null,
  name text not null check (length(name) <= 64 and name ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
  display_name text,
  description text not null check (length(description) between 1 and 1024),
  category text,
  stability text not null default 'stable'
    check (stability in ('stable', 'experimental', 'deprecated')),
  invocation text not null default 'any' check (invocation in ('model', 'user', 'any')),
  trigger_phrases text[] not null default '{}',
  frontmatter jsonb not null default '{}',
  -- How it is to be evaluated, as its client wrote it.
  eval_yaml text,
  visibility text not null default 'private' check (visibility in ('private', 'public')),
  -- The published skill of which it is a copy; of any organization.
  forked_from_skill_id uuid,
  forked_at_version_id uuid,
  -- A version of that skill which was looked at and not taken.
  upstream_seen_version_id uuid,
  -- Made by POST /demo/seed-skills, and neither changed nor published since.
  is_fixture boolean not null default false,
  -- Words of name, description and trigger phrases.
  document tsvector not null,
  -- Which scanner looked at its newest version; 0 for none.
  scanner_version int not null default 0,
  deleted_at timestamptz(3),
  created_by uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, id),
  check ((forked_from_skill_id is null) = (forked_at_version_id is null)),
  check (upstream_seen_version_id is null or forked_from_skill_id is not null)
);
create unique index skills_name on skills (org_id, name) where deleted_at is null;
create index skills_newest on skills (org_id, created_at desc, id desc) where deleted_at is null;
create index skills_category on skills (org_id, category, created_at desc, id desc)
  where deleted_at is null;
create index skills_document on skills using gin (document) where deleted_at is null;
create index skills_rescan on skills (scanner_version) where deleted_at is null;
create index skills_deleted on skills (deleted_at) where deleted_at is not null;

-- Bodies never change. Files do until the version is frozen.
create table skill_versions (
  org_id uuid not null,
  skill_id uuid not null,
  id uuid not null,
  version_number int not null check (version_number >= 1),
  -- Without outer white space.
  body text not null,
  -- SHA-256 of the body.
  body_sha256 bytea not null check (octet_length(body_sha256) = 32),
  change_summary text,
  author text,
  origin text not null
    check (origin in ('create', 'sync', 'suggestion', 'upstream', 'restore', 'fork', 'files')),
  parent_version_id uuid,
  restored_from_version_id uuid,
  -- How often its files were changed in place: what a scan has seen is of one state of them.
  revision int not null default 0,
  frozen_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, id),
  unique (org_id, skill_id, version_number),
  foreign key (org_id, skill_id) references skills on delete cascade
);
-- The operator names a version by its id alone.
create unique index skill_versions_id on skill_versions (id);
create index skill_versions_body on skill_versions (org_id, skill_id, body_sha256);

-- Files are stored once an organization, whatever number of versions has them.
create table skill_blobs (
  org_id uuid not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  content bytea not null,
  -- When a file last lost this content: a day later, retention looks whether any version has it.
  released_at timestamptz(3),
  primary key (org_id, sha256)
);
create index skill_blobs_released on skill_blobs (released_at) where released_at is not null;
alter table skill_blobs alter column content set storage external;

create table skill_version_files (
  org_id uuid not null,
  version_id uuid not null,
  path text collate "C" not null check (octet_length(path) between 1 and 255),
  id uuid not null,
  sha256 bytea not null,
  mode text not null check (mode in ('0644', '0755')),
  size_bytes int not null check (size_bytes between 0 and 1048576),
  content_type text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, version_id, path),
  unique (org_id, version_id, id),
  foreign key (org_id, version_id) references skill_versions on delete cascade,
  foreign key (org_id, sha256) references skill_blobs
);
create unique index skill_version_files_folded
  on skill_version_files (org_id, version_id, lower(normalize(path, nfkc)));
create index skill_version_files_blob on skill_version_files (org_id, sha256);

-- The newest scan of each version. It counts while the version's files are those that it saw.
create table skill_scans (
  org_id uuid not null,
  version_id uuid not null,
  revision int not null,
  scanner_version int not null,
  band text not null check (band in ('passed', 'caution', 'blocked')),
  reason_codes text[] not null,
  -- The first hundred.
  findings jsonb not null,
  finding_count int not null,
  scanned_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, version_id),
  foreign key (org_id, version_id) references skill_versions on delete cascade
);

-- What operators decided; the newest that counts wins over every scan of the version. One that blocks
-- always counts, another while the version's files are those that were reviewed.
create table skill_reviews (
  org_id uuid not null,
  id uuid not null,
  version_id uuid not null,
  revision int not null,
  band text not null check (band in ('passed', 'caution', 'blocked')),
  note text not null,
  reviewed_by text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, id),
  foreign key (org_id, version_id) references skill_versions on delete cascade
);
create index skill_reviews_newest on skill_reviews (org_id, version_id, created_at desc);

-- Which agents use which skills: own ones, and published ones of other organizations.
create table skill_assignments (
  org_id uuid not null,
  project_id uuid not null,
  agent_name text not null,
  skill_id uuid not null,
  -- Null for the latest.
  version_id uuid,
  created_by_key_id uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, project_id, agent_name, skill_id),
  foreign key (org_id, project_id) references projects
);
create index skill_assignments_skill
  on skill_assignments (org_id, skill_id, agent_name, project_id);

-- What each installation of a client said last of the skills it holds.
create table client_installs (
  org_id uuid not null references organizations,
  install_id text not null,
  skill_name text not null,
  -- The stored version that it held last.
  version_number int,
  reported_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, install_id, skill_name)
);
create index client_installs_reported on client_installs (reported_at);

-- Runs of cases with a skill and without it.
create table skill_benchmarks (
  org_id uuid not null,
  id uuid not null,
  skill_id uuid not null,
  version_id uuid not null,
  suite text not null,
  suite_sha256 bytea not null check (octet_length(suite_sha256) = 32),
  runner text not null,
  run_at timestamptz(3) not null,
  cases int not null check (cases > 0),
  -- In either run of the case.
  errored int not null check (errored between 0 and cases),
  -- Of the cases that both runs attempted without an error; what follows is of these.
  compared int not null check (compared between 0 and cases - errored),
  passed_with int not null check (passed_with between 0 and compared),
  passed_without int not null check (passed_without between 0 and compared),
  -- Passed without the skill and failed with it.
  flipped_to_fail int not null
    check (flipped_to_fail between 0 and least(passed_without, compared - passed_with)),
  -- Null where the run did not count them.
  tokens_with bigint,
  tokens_without bigint,
  turns_with bigint,
  turns_without bigint,
  -- More than a quarter of the cases had an error.
  voided boolean not null,
  created_by_key_id uuid,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, id),
  unique (org_id, version_id, suite_sha256, runner, run_at),
  foreign key (org_id, version_id) references skill_versions on delete cascade,
  check ((tokens_with is null) = (tokens_without is null)),
  check ((turns_with is null) = (turns_without is null))
);
create index skill_benchmarks_newest on skill_benchmarks (org_id, skill_id, run_at desc, id desc);

-- The skills that were active in a trace, or loaded by its agent.
create table trace_skills (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  skill_name text not null,
  -- Hex of the SHA-256 of the body; empty where the trace does not say.
  skill_hash text not null default '',
  started_at timestamptz(3) not null,
  primary key (org_id, project_id, trace_id, skill_name, skill_hash),
  foreign key (org_id, project_id, trace_id) references trace_ids on delete cascade
);
create index trace_skills_newest on trace_skills (org_id, skill_name, started_at desc);
create index trace_skills_of_project
  on trace_skills (org_id, project_id, skill_name, started_at desc);
create index trace_skills_of_version
  on trace_skills (org_id, project_id, skill_name, skill_hash, started_at desc);

-- Evidence that came since the last score; the sweep takes it away.
create table skill_scores_due (
  org_id uuid not null,
  skill_name text not null,
  due_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, skill_name)
);

-- The public name of a skill, which it keeps for ever.
create table registry_slugs (
  skill_id uuid primary key,
  org_id uuid not null,
  url_slug text not null unique,
  -- Withdrawn by the operator, and why. What is published again stays so.
  held_at timestamptz(3),
  held_note text,
  check ((held_at is null) = (held_note is null))
);

-- What is public. Operations without a key read these tables and no others: what was never published,
-- deleted or withdrawn is missing here alike. Nothing private is ever written to them.
create table registry_skills (
  skill_id uuid primary key,
  org_id uuid not null,
  url_slug text not null unique,
  registry_name text not null unique,
  handle text not null,
  name text not null,
  display_name text,
  description text not null,
  category text,
  tags text[] not null default '{}',
  author_display_name text,
  stability text not null,
  document tsvector not null,
  current_version int not null,
  current_version_id uuid not null,
  band text not null check (band in ('passed', 'caution', 'blocked', 'unreviewed')),
  -- Withdrawn by the operator, as its slug says; its versions are then withheld.
  held_at timestamptz(3),
  tier int not null default 0 check (tier between 0 and 3),
  score numeric(5, 4),
  -- What the score is made of, and what else it is ordered by; null where there is no evidence.
  bench numeric(5, 4),
  live numeric(5, 4),
  rating numeric(5, 4),
  rating_count int not null default 0,
  avg_rating numeric(5, 4),
  avg_pass_rate numeric(5, 4),
  lift numeric(6, 4),
  token_saving numeric(7, 4),
  benchmark jsonb,
  scored_at timestamptz(3),
  -- Of when the newest of the evidence is.
  evidence_at timestamptz(3),
  install_count int not null default 0,
  published_at timestamptz(3) not null default clock_timestamp(),
  first_published_at timestamptz(3) not null default clock_timestamp(),
  -- What lists are in the order of, each beginning with the smallest. Without evidence a skill comes last.
  by_score numeric not null
    generated always as (coalesce(-(2 * tier + score), 'infinity')) stored,
  by_rating numeric not null generated always as (coalesce(-rating, 'infinity')) stored,
  by_lift numeric not null generated always as (coalesce(-lift, 'infinity')) stored,
  by_saving numeric not null generated always as (coalesce(-token_saving, 'infinity')) stored,
  by_installs numeric not null generated always as (-install_count) stored,
  by_time numeric not null
    generated always as (-extract(epoch from published_at at time zone 'UTC')) stored,
  check ((score is null) = (tier = 0))
);
create index registry_skills_document on registry_skills using gin (document);
create index registry_skills_score on registry_skills (by_score, skill_id);
create index registry_skills_rating on registry_skills (by_rating, skill_id);
create index registry_skills_lift on registry_skills (by_lift, skill_id);
create index registry_skills_saving on registry_skills (by_saving, skill_id);
create index registry_skills_installs on registry_skills (by_installs, skill_id);
create index registry_skills_time on registry_skills (by_time, skill_id);
create index registry_skills_tier on registry_skills (tier, by_score, skill_id);
create index registry_skills_category on registry_skills (category, by_score, skill_id);
create index registry_skills_tags on registry_skills using gin (tags);
create index registry_skills_name on registry_skills (name, registry_name);
-- Those that were never scored first.
create index registry_skills_scored on registry_skills (scored_at nulls first, skill_id);
create index registry_skills_org on registry_skills (org_id);

create table registry_versions (
  skill_id uuid not null references registry_skills on delete cascade,
  version_number int not null,
  version_id uuid not null unique,
  body text not null,
  body_sha256 bytea not null,
  change_summary text,
  description text not null,
  invocation text not null,
  stability text not null,
  -- Without private keys.
  frontmatter jsonb not null,
  eval_yaml text,
  band text not null check (band in ('passed', 'caution', 'blocked', 'unreviewed')),
  reason_codes text[] not null default '{}',
  -- Which scanner looked at it; 0 for none.
  scanner_version int not null default 0,
  published_at timestamptz(3) not null default clock_timestamp(),
  primary key (skill_id, version_number)
);
create index registry_versions_rescan on registry_versions (scanner_version);

create table registry_files (
  skill_id uuid not null,
  version_number int not null,
  path text collate "C" not null,
  id uuid not null,
  sha256 bytea not null,
  mode text not null,
  size_bytes int not null,
  content_type text not null,
  content bytea not null,
  primary key (skill_id, version_number, path),
  foreign key (skill_id, version_number) references registry_versions on delete cascade
);
alter table registry_files alter column content set storage external;

create table registry_installs (
  skill_id uuid not null,
  org_id uuid not null,
  fork_skill_id uuid not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (skill_id, org_id)
);
create index registry_installs_newest on registry_installs (skill_id, created_at desc);
create index registry_installs_fork on registry_installs (org_id, fork_skill_id);
