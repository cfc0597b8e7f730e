import { JSDOM } from 'jsdom'
import t from 'tap'
import { topologyChart } from '../../../api/console/charts/topology-chart.ts'
import { componentDiff } from '../../../api/console/manifests/component-diff.ts'
import type { Markup } from '../../../api/console/html.ts'
import { traceContent } from '../../../api/console/traces/trace-content.ts'

const documentOf = ({ text }: Markup) => new JSDOM(text).window.document

t.test('a drawing of agents takes their names as names', async (t) => {
  const names = ['__proto__', 'constructor', 'toString', 'get', 'hasOwnProperty']
  const before = Object.getOwnPropertyNames(Object.prototype)
  const edges = names.map((parent, i) => ({
    parent,
    child: names[(i + 3) % names.length] ?? '',
    via: 'handoff',
    trace_count: i + 1,
  }))
  const drawn = documentOf(
    topologyChart(
      names.map((agent_name) => ({ agent_name, trace_count: 1 })),
      edges,
      { project: undefined },
    ),
  )
  t.same(Object.getOwnPropertyNames(Object.prototype), before)
  t.equal(drawn.querySelectorAll('.node').length, names.length)
  const paths = [...drawn.querySelectorAll('.edge')].map((edge) => edge.getAttribute('d'))
  t.equal(new Set(paths).size, edges.length)
  for (const path of paths) t.match(path, /^M[\d.]+ [\d.]+L/)
})

t.test('a drawing of agents holds few of them', async (t) => {
  const nodes = Array.from({ length: 500 }, (_, i) => ({ agent_name: `a${i}`, trace_count: i }))
  const edges = nodes.flatMap((node, i) =>
    nodes.slice(i + 1, i + 10).map((other) => ({
      parent: node.agent_name,
      child: other.agent_name,
      via: 'handoff',
      trace_count: 1,
    })),
  )
  const drawn = documentOf(topologyChart(nodes, edges, { current: 'a7', project: 'p' }))
  t.equal(drawn.querySelectorAll('.node').length, 20)
  t.equal(drawn.querySelectorAll('.edge').length, 40)
  const current = drawn.querySelector('.node.current')
  t.match(current?.textContent, 'a7')
  t.equal(current?.getAttribute('href'), '/console/agents/a7?project=p')
  t.match(drawn.querySelector('figcaption')?.textContent, /The 20 agents with most traces/)
})

t.test('a trace of very many calls is shown in part', async (t) => {
  const calls = Array.from({ length: 2000 }, (_, call) => ({
    span_id: null,
    rendered_input: Array.from({ length: 60 }, (_, i) => ({
      role: 'user',
      content: `${call} ${i}`,
    })),
    output: { content: 'done' },
    tool_calls: Array.from({ length: 100 }, () => ({ tool_name: 'look', args: {} })),
    latency_ms: null,
    input_tokens: null,
    output_tokens: null,
  }))
  const trace = { llm_calls: calls, user_input_preview: null, final_output_preview: null }
  const shown = documentOf(
    traceContent(trace as never, { path: '/console/traces/t', whole: undefined }),
  )
  t.equal(shown.querySelectorAll('.message').length, 2000)
  const { textContent: text } = shown.documentElement
  t.match(text, '10 further messages')
  t.match(text, '50 further tool calls')
  t.match(text, '1,800 further calls')
  t.match(text, /Further texts are not shown here/)
})

t.test('a manifest of very many components is compared in part', async (t) => {
  const components = (text: string) =>
    Array.from({ length: 300 }, (_, i) => ({
      component_type: 'prompt',
      component_name: `p${i}`,
      content_hash: text,
      schema_json: { content: text },
    }))
  const shown = documentOf(
    componentDiff(components('before') as never, components('after') as never),
  )
  t.equal(shown.querySelectorAll('.diff').length, 10)
  t.equal(shown.querySelectorAll('.component').length, 110)
  t.match(shown.documentElement.textContent, '190 further components')
})
