-- What people say of traces, and patterns that outputs are held against.

-- In the place of the list of 0001: regex besides.
alter table evaluators drop constraint evaluators_type_check, add constraint evaluators_type_check
  check (type in ('json_valid', 'contains', 'regex', 'max_cost', 'max_steps', 'external'));

-- Never changed; what is said last holds.
create table annotations (
  org_id uuid not null,
  project_id uuid not null,
  trace_id text not null,
  id uuid not null,
  label text,
  rating int check (rating between 1 and 5),
  correctness text,
  error_categories text[] not null,
  -- What the trace should have ended in.
  corrected_output text,
  tags text[] not null,
  notes text,
  score float8 check (score between 0 and 1),
  -- Null leaves it as the annotation before said.
  flagged_for_review boolean,
  -- The API key.
  created_by uuid not null,
  -- By the clock of the database, which is the same for all processes.
  created_at timestamptz(3) not null default clock_timestamp(),
  primary key (org_id, project_id, trace_id, id),
  foreign key (org_id, project_id, trace_id) references traces on delete cascade
);
