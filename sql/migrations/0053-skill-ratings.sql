-- serves: 16
-- The ratings of a version of a skill, the newest first.
create index concurrently if not exists eval_scores_of_skill
  on eval_scores (org_id, (metadata ->> 'skill_version_id'), updated_at desc)
  where name = 'skill_rating';
