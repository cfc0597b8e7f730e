-- Scores in the client's words, and their sums by what was measured together.

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
