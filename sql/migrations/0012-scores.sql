-- Scores in the client's words.

-- The category as it was sent; null where it says no more than `category`.
alter table eval_scores add column category_detail text;
