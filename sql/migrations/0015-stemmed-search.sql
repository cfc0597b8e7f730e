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

-- Rows that are there, and those that older processes still add, have the words alone. Maintenance adds
-- the stems in pages, because an update of all rows would keep the traces that are judged waiting.
alter table trace_search add column has_stems boolean not null default false;
create index trace_search_unstemmed on trace_search (org_id, project_id, trace_id)
  where not has_stems;
