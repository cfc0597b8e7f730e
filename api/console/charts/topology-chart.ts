import dagre from '@dagrejs/dagre'
import { agentPath } from '../agents/agent-path.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count, plural } from '../parts.ts'

export interface TopologyNode {
  readonly agent_name: string
  readonly trace_count: number
}
export interface TopologyEdge {
  readonly parent: string
  readonly child: string
  readonly via: string
  readonly trace_count: number
}

/** Agents drawn; of more, those with most traces. Laying out more would hold up other requests. */
const MAX_NODES = 20
const MAX_EDGES = 40
const HEIGHT = 48
const PADDING = 14
/** Of a character of a name, at most. */
const CHAR = 7.4
const MAX_NAME = 26

/**
 * Which agents give work to which, from left to right. It is laid out here and drawn in pixels, so that text
 * keeps its size; what is wider than the page scrolls.
 * @param current the agent that is marked
 * @param project of all agents; undefined where they are of several
 */
export function topologyChart(
  nodes: readonly TopologyNode[],
  edges: readonly TopologyEdge[],
  { current, project }: { current?: string; project: string | undefined },
): Markup {
  const drawn = nodes
    .toSorted(
      (a, b) =>
        Number(b.agent_name === current) - Number(a.agent_name === current) ||
        b.trace_count - a.trace_count,
    )
    .slice(0, MAX_NODES)
  const names = new Set(drawn.map(({ agent_name }) => agent_name))
  const links = edges
    .filter(({ parent, child }) => parent !== child && names.has(parent) && names.has(child))
    .slice(0, MAX_EDGES)
  const { width, height, boxes, paths } = layOut(drawn, links)
  const most = Math.max(1, ...links.map((edge) => edge.trace_count))
  return html`<figure class="chart topology">
    <div class="scroll" tabindex="0" role="group" aria-label="${describe(drawn, links)}">
      <svg width="${Math.ceil(width) + 2}" height="${Math.ceil(height) + 2}">
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8Z" />
          </marker>
        </defs>
        ${links.map((edge, i) => html`<path class="edge" d="${pathOf(paths[i] ?? [])}" stroke-width="${(1 + 3 * (edge.trace_count / most)).toFixed(1)}" marker-end="url(#arrow)"><title>${edge.parent} → ${edge.child}: ${plural(edge.trace_count, 'trace')} by ${edge.via.replace('_', ' ')}</title></path>`)}
        ${drawn.map((node, i) => box(node, boxes[i] as Box, agentPath({ ...node, project }), node.agent_name === current))}
      </svg>
    </div>
    <figcaption>
      An arrow leads to the agent that is given work; the more traces tell so, the wider it is.
      ${nodes.length > drawn.length && `The ${MAX_NODES} agents with most traces are drawn.`}
    </figcaption>
  </figure>`
}

/** The places of nodes and edges, in the order of both. Names are clients', and the library's ids are keys of its objects. */
function layOut(nodes: readonly TopologyNode[], edges: readonly TopologyEdge[]) {
  const graph = new dagre.graphlib.Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 64, marginx: 1, marginy: 1 })
  graph.setDefaultEdgeLabel(() => ({}))
  const ids = new Map(nodes.map(({ agent_name }, i) => [agent_name, `n${i}`]))
  const idOf = (name: string) => ids.get(name) ?? ''
  for (const { agent_name } of nodes) {
    const width = Math.max(96, Math.min(MAX_NAME, agent_name.length) * CHAR + 2 * PADDING)
    graph.setNode(idOf(agent_name), { width, height: HEIGHT })
  }
  for (const { parent, child } of edges) graph.setEdge(idOf(parent), idOf(child))
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width,
    height,
    boxes: nodes.map(({ agent_name }) => graph.node(idOf(agent_name)) as Box),
    paths: edges.map(({ parent, child }) => graph.edge(idOf(parent), idOf(child))?.points ?? []),
  }
}

function box(
  { agent_name, trace_count }: TopologyNode,
  { x, y, width, height }: Box,
  href: string,
  isCurrent: boolean,
) {
  const name = agent_name.length > MAX_NAME ? `${agent_name.slice(0, MAX_NAME - 1)}…` : agent_name
  const [left, top] = [x - width / 2, y - height / 2].map((value) => value.toFixed(1))
  return html`<a href="${href}" class="node ${isCurrent && 'current'}">
    <rect x="${left}" y="${top}" width="${width.toFixed(1)}" height="${height}" rx="9" />
    <text class="node-name" x="${(x - width / 2 + PADDING).toFixed(1)}" y="${(y - 3).toFixed(1)}"
      >${name}</text
    >
    <text class="tick" x="${(x - width / 2 + PADDING).toFixed(1)}" y="${(y + 14).toFixed(1)}"
      >${count(trace_count)} traces</text
    >
  </a>`
}

function pathOf(points: readonly { x: number; y: number }[]) {
  return points
    .map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`)
    .join('')
}

function describe(nodes: readonly TopologyNode[], edges: readonly TopologyEdge[]) {
  const links = edges.slice(0, 20).map(({ parent, child }) => `${parent} gives work to ${child}`)
  return [`${plural(nodes.length, 'agent')}`, ...links].join('. ')
}

/** Around its middle, in pixels. */
interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}
