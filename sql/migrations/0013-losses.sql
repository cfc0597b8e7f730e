-- What an import could not keep, by word: how many times.
alter table imports add column losses jsonb not null default '{}';

-- What rows do not tell of their traces, by word: how many messages it concerns.
alter table dataset_versions add column losses jsonb not null default '{}';
-- What is doubtful about the rows: a list of {code, message}.
alter table dataset_versions add column warnings jsonb not null default '[]';

-- Versions that are not built yet are built with the options they could not name.
update dataset_versions
set recipe = jsonb_set(recipe, '{options}',
  '{"reasoning": "drop", "length_balance": true}' || (recipe -> 'options'))
where ready_at is null;
