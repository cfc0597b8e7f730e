-- serves: 16
-- Lets an index of words or tags begin with the project.
create extension if not exists btree_gin;
drop index verdicts_incomplete;
drop index trace_search_incomplete;
