-- English stems of all words. The configuration `english` leaves out the words it calls stop words, so
-- that neither `who` nor `-who` would mean anything.
create text search dictionary english_stems (template = snowball, language = english);
create text search configuration stems (copy = simple);
alter text search configuration stems
  alter mapping for asciiword, asciihword, hword_asciipart, word, hword, hword_part
  with english_stems;

-- The words as they are, for searches by a beginning, and beside them their stems. Only the stems have
-- positions, which phrases need: else the last word would seem to stand before the first stem.
create function search_document(content text) returns tsvector
  language sql immutable parallel safe
  return strip(to_tsvector('simple', content)) || to_tsvector('stems', content);

-- Made anew instead of updated: as fast as reading it, and no row of it is left dead. What workers add
-- meanwhile waits for the lock and goes into the new table.
lock table trace_search in share row exclusive mode;
create table stemmed_search as
  select s.org_id, s.project_id, s.trace_id, search_document(concat_ws(' ', t.user_input_preview,
    t.final_output_preview, t.error_code, t.error_message)) as document
  from trace_search s join traces t using (org_id, project_id, trace_id);
drop table trace_search;
alter table stemmed_search rename to trace_search;
alter table trace_search
  add primary key (org_id, project_id, trace_id),
  alter column document set not null;
create index trace_search_document on trace_search using gin (document);
