-- Scores and evaluators in the words of clients, and sums by what was measured together.

-- The category as it was sent; null where it says no more than `category`.
alter table eval_scores add column category_detail text;

-- Only traces of no task and no session whose name one source scored; each is a cluster by itself and
-- in one cell alone, so that their sums may be added up.
alter table score_cells rename column clusters to lone_clusters;
alter table score_cells rename column cluster_ss to lone_ss;
alter table score_cells rename column cluster_sn to lone_sn;
alter table score_cells rename column cluster_nn to lone_nn;
alter table score_cells add column id bigint generated always as identity, add unique (org_id, id);

-- What all other traces add to a cell. A cluster may be in many cells: its sums are united before they
-- are squared.
create table score_cell_clusters (
  org_id uuid not null,
  cell_id bigint not null,
  -- Hash of the task; 0 for none.
  task bigint not null,
  -- Hash of the session, else of the trace.
  unit bigint not null,
  n bigint not null,
  sum float8 not null,
  primary key (org_id, cell_id, task, unit)
);

-- Cells of before hold all clusters in their sums: workers recompute them.
insert into score_cells_dirty (org_id, project_id, agent_name, day)
select distinct org_id, project_id, agent_name, day from score_cells;

-- What clients say of an evaluator whose scores they push.
alter table evaluators
  add column eval_type text not null default 'deterministic'
    check (eval_type in ('deterministic', 'llm_judge', 'custom')),
  add column category text,
  add column display_name text,
  add column prompt_template text,
  add column threshold float8 check (threshold between 0 and 1);
-- What was only a name did not say.
update evaluators set eval_type = 'custom' where type = 'external';
-- Checks of ours call no model.
alter table evaluators add check (type = 'external' or eval_type = 'deterministic');
