/**
 * What the scale bench asks: paths with queries below `/api/v1`, where words in braces stand for what is
 * known of the organization (see `describeOrganization`). A new list, filter or stat has its line here.
 */
export const SCALE_REQUESTS: readonly string[] = [
  ...[
    '',
    'limit=1',
    'limit=200',
    'cursor={cursor}',
    'offset=5000',
    'agent_name={agent_name}',
    'manifest_id={manifest_id}',
    'manifest_hash={manifest_hash}',
    'session_id={session_id}',
    'task_id={task_id}',
    'task_id=absent',
    'user_id={user_id}',
    'user_id=absent',
    'parent_trace_id={parent_trace_id}',
    'parent_trace_id=absent',
    'status=success',
    'status=error',
    'source_type=production',
    'source_type=synthetic',
    'source_type=replayed',
    'environment=production',
    'environment=staging',
    'environment=absent',
    'verdict=keep',
    'verdict=repair',
    'verdict=drop',
    'verdict=replay&limit=5',
    'eval_verdict=pass',
    'eval_verdict=fail',
    'needs_review=true',
    'needs_review=true&agent_name={agent_name}',
    'min_score={high_score}',
    'max_score={low_score}',
    'min_score=0.4&max_score=0.5',
    'tag=common',
    'tag=rare',
    'tag=absent',
    'tool=search_support_bot',
    'tool=absent',
    'q=common3',
    'q={rare_word}',
    'q={rare_word}%20c',
    'q=absent',
    'since={yesterday}',
    'until={long_ago}',
    'since={yesterday}&verdict=drop',
    'agent_name={agent_name}&verdict=drop',
    'agent_name={agent_name}&status=error',
    'environment=staging&status=error',
    'verdict=keep&status=error',
    'eval_verdict=fail&min_score=0.5',
    'agent_name={agent_name}&tag=rare',
    'agent_name={agent_name}&q=common3',
  ].map((query) => asked('/traces', query)),
  '/traces/{trace_id}',
  '/traces/{trace_id}/spans',
  '/traces/{trace_id}/eval-scores',
  '/traces/{trace_id}/eval-breakdown',
  '/traces/{trace_id}/decision',
  ...['', 'agent_name={agent_name}', 'since={yesterday}', 'since={long_ago}'].map((query) =>
    asked('/traces/stats', query),
  ),
  ...['', 'agent_name={agent_name}'].map((query) => asked('/traces/eval/stats', query)),
  ...[
    '',
    'agent_name={agent_name}',
    'group_by=manifest',
    'group_by=name,source',
    'group_by=day',
    'group_by=verdict&since={yesterday}',
  ].map((query) => asked('/eval-scores/aggregate', query)),
  '/agents',
  '/agents/{agent_name}',
  '/agents/topology',
  '/agents/topology?since={yesterday}',
  '/agents/{agent_name}/topology',
  '/agents/{agent_name}/violations',
  '/agents/{agent_name}/violations?since={long_ago}',
  '/manifests',
  '/manifests?agent_name={agent_name}',
  '/datasets',
  ...['', 'limit=100&days=365', 'agent_name={agent_name}', 'skill={skill}'].map((query) =>
    asked('/skills/analytics/metrics', query),
  ),
  ...['', 'agent_name={agent_name}'].map((query) => asked('/skills/analytics/leaderboard', query)),
  '/import',
  ...['', 'state=failed', 'state=running', 'kind=datasets.build'].map((query) =>
    asked('/jobs', query),
  ),
  '/jobs/stats',
  '/decision-policy/preview',
  '/replay/export',
  '/replay/export?verdict=drop',
  '/replay/export?verdict=drop&limit=100',
  '/replay/export?verdict=replay&agent_name={agent_name}',
  '/replay/export/sessions',
  '/replay/export/sessions?agent_name={agent_name}&limit=20',
]

const FEW = 'its rows are made by people, not by traces'
const BOUNDED = 'an organization has at most 10,000 skills'
const OF_ONE = 'lists what belongs to one thing, in pages of an index'
const REGISTRY = 'no tenant’s: ops/bench/registry.ts measures it'
const ANALYSIS =
  'starts a job where nothing was analysed yet; ops/bench/compatibility.ts measures that'

const OF_ALL = 'reads an entry of an index for each decided trace, 50 to 100 of them a block'

/** Operations that list, filter or count and are not asked, with the reason. */
export const NOT_ASKED: Readonly<Record<string, string>> = {
  '/api-keys': FEW,
  '/workspaces': FEW,
  '/projects': FEW,
  '/changelog': FEW,
  '/decision-policy': FEW,
  '/redaction-settings': FEW,
  '/decision-policy/versions': FEW,
  '/evaluators': FEW,
  '/regression-check': FEW,
  '/replay/batches': FEW,
  '/repair': FEW,
  '/org/webhook-deliveries': 'deliveries are kept for some days',
  '/agents/{agent_name}/bisect': 'shows the result of a job',
  '/agents/{agent_name}/impact-report': ANALYSIS,
  '/agents/{agent_name}/compat-summary': ANALYSIS,
  '/manifests/{manifest_id}/diff': 'compares two manifests',
  '/manifests/{manifest_id}/compatibility': OF_ONE,
  '/manifests/{manifest_id}/compatibility/{report_id}/episodes': OF_ONE,
  '/datasets/{dataset_id}/versions': OF_ONE,
  '/datasets/{dataset_id}/versions/{version}/rows': OF_ONE,
  '/datasets/{dataset_id}/pushes': OF_ONE,
  '/datasets/{dataset_id}/versions/{version}/pushes': OF_ONE,
  '/datasets/{dataset_id}/diff': OF_ONE,
  '/datasets/{dataset_id}/versions/{version}/export': 'sends a file',
  '/registry/skills': REGISTRY,
  '/registry/leaderboard': REGISTRY,
  '/registry/skills/{skill_id}/attachments': 'a skill has at most 200 files',
  '/registry/skills/{skill_id}/attachments/{attachment_id}': 'sends a file',
  '/registry/skills/{skill_id}/eval': 'reads one row',
  '/registry/skills/{skill_id}/files/{path*}': 'sends a file',
  '/skills/{skill_name}/attachments': 'a skill has at most 200 files',
  '/skills/{skill_name}/attachments/{attachment_id}': 'sends a file',
  '/skills/{skill_name}/benchmarks': OF_ONE,
  '/skills/{skill_name}/subscriptions': OF_ONE,
  '/traces/eval/histogram': OF_ALL,
  '/traces/{trace_id}/dataset-rows': OF_ONE,
  '/import/{import_id}/errors': OF_ONE,
  '/replay/batches/{replay_batch_id}/tasks': OF_ONE,
  '/skills': BOUNDED,
  '/skills/menu': BOUNDED,
  '/skills/analytics/compare': 'reads of two versions what metrics reads of a skill',
  '/skills/{skill_name}/versions': OF_ONE,
  '/skills/{skill_name}/body': 'reads one row',
  '/jobs/{job_id}': OF_ONE,
  '/export/backup': 'sends everything; ops/bench/backup.ts measures that',
}

/** The operation that a request is answered by, as `api/` writes its path. */
export function operationOf(request: string) {
  return request.replace(/\?.*/, '')
}

/** A request with what is known in place of the words in braces. @throws RangeError for another word */
export function fillIn(request: string, known: Readonly<Record<string, string>>) {
  return request.replaceAll(/\{(\w+)\}/g, (_, word: string) => {
    const value = known[word]
    if (value === undefined) throw new RangeError(`Nothing is known of ${word}`)
    return encodeURIComponent(value)
  })
}

function asked(path: string, query: string) {
  return query === '' ? path : `${path}?${query}`
}
