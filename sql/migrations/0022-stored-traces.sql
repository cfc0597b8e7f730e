-- serves: 16
-- Operators count the traces of the last day by organization. Traces are stored in the order they come, so
-- that a few bytes for each run of pages tell which pages to read.
create index concurrently if not exists traces_stored
  on traces using brin (created_at) with (pages_per_range = 32, autosummarize = on);
