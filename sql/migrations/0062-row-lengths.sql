-- serves: 16
-- All null in versions that the release before built.
alter table dataset_versions
  -- How many traces and rows were left after each step of the build.
  add column funnel jsonb,
  -- How many rows have so many tokens and so many messages, in bins.
  add column lengths jsonb;
alter table dataset_version_rows
  add column tokens int,
  add column messages int,
  -- The span whose call gave the row.
  add column span_id text;
