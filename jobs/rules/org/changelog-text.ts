/** What the sentences about an event are made of. */
interface ToldEvent {
  readonly event_type: string
  readonly agent_name: string | null
  readonly actor_type: 'api_key' | 'operator' | 'system'
  /** The label of the key that acted. */
  readonly actor_name: string | null
  readonly resource_type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A headline and a sentence about an event of the changelog, for people. */
export function describeEvent(event: ToldEvent): { title: string; summary: string } {
  const { agent_name: agent, data } = event
  const word = (key: string) => wordOf(event, key)
  const by = describeActor(event)
  const since = data['previous_version_label'] ? ` after ${word('previous_version_label')}` : ''
  switch (event.event_type) {
    case 'manifest.activated':
      return {
        title: `${agent} ${word('version_label')} activated`,
        summary: `Version ${word('version_label')} of ${agent} was activated${by}${since}.`,
      }
    case 'manifest.reactivated':
      return {
        title: `${agent} is back at ${word('version_label')}`,
        summary: `Version ${word('version_label')} of ${agent} was activated again${by}${since}.`,
      }
    case 'manifest.registered':
      return {
        title: `${agent} ${word('version_label')} registered`,
        summary: `Version ${word('version_label')} of ${agent} was registered${by}${since}, ${word('status') === 'active' ? 'and is active' : 'as a draft'}.`,
      }
    case 'regression.checked':
      return {
        title: `${nameResource(event)} checked: ${word('verdict')}`,
        summary: `A regression check of ${nameResource(event)}${by && `, asked for${by},`} came to ${word('verdict')}.`,
      }
    case 'regression.accepted':
    case 'regression.rejected': {
      const decision = event.event_type.slice('regression.'.length)
      return {
        title: `${nameResource(event)} ${decision}`,
        summary: `The candidate ${nameResource(event)} with verdict ${word('verdict')} was ${decision}${by}.`,
      }
    }
    case 'regression.detected':
      return {
        title: `${agent} regressed: ${word('metric')}`,
        summary: `${word('metric')} of ${agent} changed by ${rounded(data['delta'])} in ${word('version_label')}${since}.`,
      }
    case 'regression.resolved':
      return {
        title: `${agent} recovered: ${word('metric')}`,
        summary: `The regression of ${word('metric')} in ${word('version_label')} of ${agent} is resolved (${word('resolution')})${by}.`,
      }
    case 'dataset_version.ready':
      return {
        title: `${word('dataset_name')} ${word('version_label')} is ready`,
        summary: `Version ${word('version_label')} of dataset ${word('dataset_name')} was built${by} and has ${word('row_count')} rows.`,
      }
    case 'training.dataset_stale':
      return {
        title: `${nameResource(event)} is stale`,
        summary: `The current version ${word('version_label')} of dataset ${word('dataset_name')} has traces of ${agent} ${word('previous_version_label')}, which is superseded by ${word('manifest_version_label')}.`,
      }
    case 'traces.deleted': {
      const traces = countOf(data['count'], 'trace')
      const kept = data['kept_days']
      const why = typeof kept === 'number' ? `: they are kept for ${countOf(kept, 'day')}` : by
      return {
        title: `${traces} deleted`,
        summary: `${traces} ${data['count'] === 1 ? 'was' : 'were'} deleted together${why}.`,
      }
    }
    case 'import.pulled': {
      const title = `Pull from ${word('source')} requested`
      const summary = `A pull of the project ${word('project')} from ${word('source')} was requested${by}.`
      return { title, summary }
    }
    case 'import.restored':
      return {
        title: 'Restore of a backup requested',
        summary: `The restore of a backup was requested${by}.`,
      }
    case 'trace_retention.changed': {
      const kept = data['kept_days']
      const title = `Traces are kept for ${typeof kept === 'number' ? countOf(kept, 'day') : 'ever'}`
      return { title, summary: `${title} from now on; set${by}.` }
    }
    default:
      return describeAudit(event)
  }
}

/** The name of what an event is about; null for what has none. */
export function nameResource(event: ToldEvent): string | null {
  const word = (key: string) => wordOf(event, key)
  const named = (version: string) => [event.agent_name, version].filter(Boolean).join(' ')
  switch (event.resource_type) {
    case 'manifest':
      return named(word('version_label'))
    case 'regression_check':
      return named(word('candidate_version_label'))
    case 'regression_finding':
      return named(word('metric'))
    case 'dataset_version':
      return `${word('dataset_name')} ${word('version_label')}`
    default:
      return word('label') || word('name') || null
  }
}

/** `api_key.created` and the like. */
function describeAudit(event: ToldEvent) {
  const { event_type, resource_type } = event
  const what = WHAT[resource_type] ?? resource_type
  const happened = event_type.slice(event_type.indexOf('.') + 1)
  const name = nameResource(event)
  const named = name === null ? what : `${what} '${name}'`
  return {
    title: `${named} ${happened}`,
    summary: `${named} was ${happened}${describeActor(event)}.`,
  }
}

function describeActor({ actor_type, actor_name }: ToldEvent) {
  if (actor_type === 'operator') return ' by the operator'
  return actor_name === null ? '' : ` by API key '${actor_name}'`
}

/** `1 day`, `2 days`. */
function countOf(n: unknown, what: string) {
  return `${String(n)} ${what}${n === 1 ? '' : 's'}`
}

function wordOf({ data }: ToldEvent, key: string) {
  const value = data[key]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function rounded(value: unknown) {
  return typeof value === 'number' ? value.toFixed(3) : ''
}

const WHAT: Readonly<Record<string, string>> = {
  api_key: 'API key',
  session: 'Session of API key',
  workspace: 'Workspace',
  project: 'Project',
  job: 'Job',
  organization: 'Organization',
  webhook_secret: 'Webhook secret',
  payment_customer: 'Payment customer',
  trace_period: 'Month of traces',
  skill: 'Skill',
  dataset: 'Dataset',
}
