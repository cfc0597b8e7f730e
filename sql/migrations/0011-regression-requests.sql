-- The newest job of each distinct request for a regression check, to which the same request attaches.
create table regression_requests (
  org_id uuid not null,
  -- SHA-256 of what was asked.
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  job_id uuid not null,
  -- Null for a dry run.
  check_id uuid,
  -- A client was told to ask again, and has not been given the report since.
  is_owed boolean not null default false,
  primary key (org_id, fingerprint),
  foreign key (org_id, job_id) references jobs on delete cascade
);
create index regression_requests_job on regression_requests (org_id, job_id);

-- `per_trace` is a sentence; the list is `traces`.
update regression_checks set call_replay = call_replay || jsonb_build_object(
  'traces', call_replay -> 'per_trace',
  'per_trace', format('%s of %s calls can be asked again, in %s traces.',
    call_replay #> '{summary,replayed}',
    (call_replay #> '{summary,replayed}')::int + (call_replay #> '{summary,errors}')::int,
    jsonb_array_length(call_replay -> 'per_trace')))
where jsonb_typeof(call_replay -> 'per_trace') = 'array';
