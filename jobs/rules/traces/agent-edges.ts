import { order } from '../core/order.ts'
import type { LlmCall, Span, Trace } from './trace.ts'

/** One agent that gave work to another within a trace. */
export interface AgentEdge {
  readonly parent: string
  readonly child: string
  readonly via: 'handoff' | 'span'
}

/**
 * Who gave work to whom, by hand-off spans, spans of agents, and LLM calls of other agents; each
 * pair once a way, in byte order. A span's parent is the agent of the nearest span around it, else the
 * trace's own.
 */
export function edgesOf(trace: Pick<Trace, 'agent_name' | 'spans' | 'llm_calls'>): AgentEdge[] {
  const agents = agentsOfSpans(trace.spans)
  const edges = trace.spans.flatMap((span): AgentEdge[] => {
    if (span.span_type === 'handoff') return handoffOf(span, trace.agent_name, agents)
    const child = agents.agentOf(span)
    return child ? [{ parent: agents.around(span) ?? trace.agent_name, child, via: 'span' }] : []
  })
  const children = new Set(edges.map(({ child }) => child))
  for (const call of trace.llm_calls) {
    const child = agentOfCall(call)
    if (child && !children.has(child)) edges.push({ parent: trace.agent_name, child, via: 'span' })
  }
  return distinct(edges.filter(({ parent, child }) => parent !== child))
}

/** The edges on the ways down from an agent and up from it. */
export function relatedEdges<E extends Pick<AgentEdge, 'parent' | 'child'>>(
  edges: readonly E[],
  agentName: string,
): E[] {
  const below = reach(edges, agentName, 'parent', 'child')
  const above = reach(edges, agentName, 'child', 'parent')
  return edges.filter(({ parent, child }) => below.has(parent) || above.has(child))
}

/** The agent, and all that is reached from it by going from one end of an edge to the other. */
function reach<E extends Pick<AgentEdge, 'parent' | 'child'>>(
  edges: readonly E[],
  agentName: string,
  from: 'parent' | 'child',
  to: 'parent' | 'child',
) {
  const byStart = Map.groupBy(edges, (edge) => edge[from])
  const reached = new Set([agentName])
  // A set that grows while it is gone through is gone through to its end.
  for (const agent of reached) for (const edge of byStart.get(agent) ?? []) reached.add(edge[to])
  return reached
}

function agentsOfSpans(spans: readonly Span[]) {
  const byId = new Map(spans.map((span) => [span.id, span]))
  const nearest = new Map<Span, string | null>()
  const agentOf = (span: Span) => (span.span_type === 'agent' ? agentOfSpan(span) : null)
  const parentOf = ({ parent_span_id: id }: Span) => (id === null ? undefined : byId.get(id))

  /** The agent of the span or of the nearest one around it; each span is walked through once. */
  function nearestTo(span: Span | undefined): string | null {
    const walked: Span[] = []
    let at = span
    let agent: string | null = null
    while (at && agent === null && !nearest.has(at)) {
      // So that spans that enclose each other come to an end.
      nearest.set(at, null)
      walked.push(at)
      agent = agentOf(at)
      at = parentOf(at)
    }
    if (agent === null && at) agent = nearest.get(at) ?? null
    for (const each of walked) nearest.set(each, agent)
    return agent
  }

  return { agentOf, around: (span: Span) => nearestTo(parentOf(span)) }
}

/** Without an attribute that names it, only a span inside another one is taken to be named after its agent. */
function agentOfSpan({ attributes, name, parent_span_id }: Span): string | null {
  const named = firstName(attributes, ['agent_name', 'agent.name', 'gen_ai.agent.name'])
  if (named || parent_span_id === null) return named
  return /^(?:invoke_agent |agent[:.])?([\w.-]{1,128})$/.exec(name)?.[1] ?? null
}

function handoffOf(span: Span, own: string, agents: ReturnType<typeof agentsOfSpans>): AgentEdge[] {
  const { attributes, name } = span
  const [from, to] = endsInName(name.trim())
  const child = firstName(attributes, HANDOFF_TO) ?? to
  const parent = firstName(attributes, HANDOFF_FROM) ?? from ?? agents.around(span) ?? own
  return child ? [{ parent, child, via: 'handoff' }] : []
}

/** Who hands over to whom by the name of a hand-off, such as `a -> b` or `handoff to b`. */
function endsInName(name: string): (string | null)[] {
  const arrow = HANDOFF_ARROW.exec(name)
  const ends = arrow
    ? arrow.slice(1)
    : ['', HANDOFF_WORD.test(name) ? '' : (HANDOFF_NAME.exec(name)?.[1] ?? name)]
  return ends.map((end) => (end.length <= MAX_AGENT_NAME && end.trim()) || null)
}

/** Judges look at an agent's work from outside. */
function agentOfCall({ agent_name, call_role }: LlmCall) {
  return call_role === 'judge' ? null : agent_name
}

function firstName(attributes: Record<string, unknown>, keys: readonly string[]): string | null {
  for (const key of keys) {
    const name = attributes[key]
    if (typeof name === 'string' && name !== '' && name.length <= MAX_AGENT_NAME) return name
  }
  return null
}

function distinct(edges: readonly AgentEdge[]) {
  const byKey = new Map(edges.map((edge) => [JSON.stringify(edge), edge]))
  return [...byKey].sort(([a], [b]) => order(a, b)).map(([, edge]) => edge)
}

/** Attributes of a hand-off that name its target and who hands over; the first one holds. */
export const HANDOFF_TO = [
  'to_agent',
  'target_agent',
  'handoff.to',
  'handoff.target',
  'to',
  'target',
  'agent_name',
] as const
export const HANDOFF_FROM = [
  'from_agent',
  'source_agent',
  'handoff.from',
  'handoff.source',
  'from',
] as const
const HANDOFF_WORD = /^(?:hand[ _-]?(?:off|over)|transfer|delegate)(?:[ _-]to)?$/i
const HANDOFF_NAME = /^(?:hand[ _-]?(?:off|over)|transfer|delegate)(?:[ _-]to)?[ _:-]+(\S.*)$/i
const HANDOFF_ARROW = /^(.*?)(?:->|→)(.*)$/
const MAX_AGENT_NAME = 256
