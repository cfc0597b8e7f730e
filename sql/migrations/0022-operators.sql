-- serves: 16
-- Operators list the jobs of all organizations, newest first.
create index jobs_recent on jobs (created_at desc, id desc);
-- And count the traces of the last hour and day. Traces are stored in the order they come, so that a few
-- bytes for each run of pages tell which pages to read.
create index traces_stored on traces using brin (created_at) with (pages_per_range = 32, autosummarize = on);
