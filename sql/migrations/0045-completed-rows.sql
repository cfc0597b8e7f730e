-- serves: 16
-- All rows are complete.
drop index verdicts_incomplete;
drop index trace_search_incomplete;
