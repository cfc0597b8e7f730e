-- serves: 16
-- Those of 0048 have taken their place.
drop index traces_with_tags, traces_with_tools, verdicts_quality;
