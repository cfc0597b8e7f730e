/** What the sentences about an event are made of. */
interface ToldEvent {
  readonly event_type: string
  readonly agent_name: string | null
  readonly resource_type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A headline and a sentence about an event of the changelog, for people. */
export function describeEvent(event: ToldEvent): { title: string; summary: string } {
  const { agent_name: agent, data } = event
  const word = (key: string) => {
    const value = data[key]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  const since = data['previous_version_label'] ? ` after ${word('previous_version_label')}` : ''
  switch (event.event_type) {
    case 'manifest.activated':
      return {
        title: `${agent} ${word('version_label')} activated`,
        summary: `Version ${word('version_label')} of ${agent} is active${since}.`,
      }
    case 'manifest.reactivated':
      return {
        title: `${agent} is back at ${word('version_label')}`,
        summary: `Version ${word('version_label')} of ${agent} is active again${since}.`,
      }
    case 'manifest.registered':
      return {
        title: `${agent} ${word('version_label')} registered`,
        summary: `Version ${word('version_label')} of ${agent} was registered${since}, ${word('status') === 'active' ? 'and is active' : 'as a draft'}.`,
      }
    case 'regression.checked':
      return {
        title: `${agent} checked: ${word('verdict')}`,
        summary: `A regression check of ${agent} came to ${word('verdict')}.`,
      }
    case 'regression.accepted':
    case 'regression.rejected': {
      const decision = event.event_type.slice('regression.'.length)
      return {
        title: `${agent} candidate ${decision}`,
        summary: `A candidate of ${agent} with verdict ${word('verdict')} was ${decision}.`,
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
        summary: `The regression of ${word('metric')} in ${word('version_label')} of ${agent} is resolved (${word('resolution')}).`,
      }
    case 'dataset_version.ready':
      return {
        title: `${word('dataset_name')} ${word('version_label')} is ready`,
        summary: `Version ${word('version_label')} of dataset ${word('dataset_name')} has ${word('row_count')} rows.`,
      }
    default:
      return describeAudit(event)
  }
}

/** `api_key.created` and the like. */
function describeAudit({ event_type, resource_type, data }: ToldEvent) {
  const what = resource_type.replaceAll('_', ' ')
  const happened = event_type.slice(event_type.indexOf('.') + 1)
  const name = data['label'] ?? data['name']
  const named = typeof name === 'string' ? ` ${name}` : ''
  return { title: `${what}${named} ${happened}`, summary: `The ${what}${named} was ${happened}.` }
}

function rounded(value: unknown) {
  return typeof value === 'number' ? value.toFixed(3) : ''
}
