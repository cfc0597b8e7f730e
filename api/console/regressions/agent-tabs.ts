import { html } from '../html.ts'
import type { Markup, Part } from '../html.ts'
import { plural, tabs, withQuery } from '../parts.ts'

interface Agent {
  readonly agent_name: string
  readonly project_id: string
  readonly latest_manifest: object | null
}

/** The agent that is shown where none is asked for: the first that has a manifest. */
export function chooseAgent<A extends Agent>(agents: readonly A[]): A | undefined {
  return agents.find(({ latest_manifest }) => latest_manifest) ?? agents[0]
}

/**
 * Links to the same page of other agents. The one that is shown and those with versions are tabs, as many
 * as there is room for; the others stand in a list that opens.
 */
export function agentTabs(
  path: string,
  agents: readonly Agent[],
  chosen: { readonly agent_name: string; readonly project: string | undefined },
  beside: Part,
): Markup {
  const ofName = Map.groupBy(agents, ({ agent_name }) => agent_name)
  const links = agents.map(({ agent_name, project_id, latest_manifest }) => {
    // A name of several projects leads nowhere without one.
    const project = (ofName.get(agent_name)?.length ?? 0) > 1 ? project_id : undefined
    const isCurrent = agent_name === chosen.agent_name && (!project || project === chosen.project)
    const weight = (isCurrent ? 2 : 0) + (latest_manifest ? 1 : 0)
    return { ...linkTo(path, { agent_name, project }), isCurrent, weight }
  })
  if (!links.some(({ isCurrent }) => isCurrent))
    links.unshift({ ...linkTo(path, chosen), isCurrent: true, weight: 2 })
  const first = new Set(links.toSorted((a, b) => b.weight - a.weight).slice(0, MAX_TABS))
  const others = links.filter((link) => !first.has(link))
  return html`${tabs(
    'Agents',
    links.filter((link) => first.has(link)),
    beside,
  )}${
    others.length > 0 &&
    html`<details class="more-agents">
      <summary>${plural(others.length, 'more agent')}</summary>
      <ul>
        ${others.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}
      </ul>
    </details>`
  }`
}

function linkTo(
  path: string,
  { agent_name, project }: { agent_name: string; project: string | undefined },
) {
  const text = html`<bdi
    >${agent_name.length > 40 ? `${agent_name.slice(0, 40)}…` : agent_name}</bdi
  >`
  return { text, href: withQuery(path, { agent_name, project }) }
}

const MAX_TABS = 6
