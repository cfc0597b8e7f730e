import type { Test } from 'tap'
import { detectViolationsHandler } from '../../workers/evals/detect-violations.ts'
import { judgeTracesHandler } from '../../workers/evals/judge-traces.ts'
import { activateDraftHandler } from '../../workers/regression/activate-draft.ts'
import { analyzeCompatibilityHandler } from '../../workers/regression/analyze-compatibility.ts'
import { linkTracesHandler } from '../../workers/regression/link-traces.ts'
import { retargetVerdictsHandler } from '../../workers/regression/retarget-verdicts.ts'
import { openService } from './service.ts'
import type { Service } from './service.ts'
import { settled } from './settled.ts'

/** A service with the workers that traces and manifests need. */
export async function openAgentService(t: Test, options: Parameters<typeof openService>[1] = {}) {
  const service = await openService(t, options)
  await service.startWorkers([
    judgeTracesHandler,
    detectViolationsHandler,
    analyzeCompatibilityHandler,
    retargetVerdictsHandler,
    linkTracesHandler,
    activateDraftHandler,
  ])
  return service
}

/** An organization of its own with an agent `support`. */
export async function makeAgent(service: Service) {
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  return {
    org,
    client,
    /** Registers a version of `support`, which becomes the active one, and returns what the answer says. */
    async register(components: object[], more: object = {}) {
      const body = { agent_name: 'support', components, activate: true, ...more }
      return (await client.post('/manifests', body)).body
    },
    /** Registers a candidate of `support` as CI does, and returns what the answer says. */
    async propose(components: object[], more: object = {}) {
      return (await client.post('/manifests', { agent_name: 'support', components, ...more })).body
    },
    /**
     * Stores a trace of `support` with tool calls, whose conversation no other one has, and returns its
     * id. @param role of who speaks first
     */
    async store(
      calls: readonly (readonly [string, unknown, unknown?])[],
      more: object = {},
      role = 'user',
    ) {
      const tool_calls = calls.map(([tool_name, args, result]) => ({ tool_name, args, result }))
      const rendered_input = [{ role, content: `request ${++requests}` }]
      const output = { content: 'done' }
      const call = { model_name: 'gpt-4o', rendered_input, output, tool_calls }
      const trace = { agent_name: 'support', llm_calls: [call], ...more }
      return (await client.post('/traces', trace)).body.trace_id as string
    },
    /** Waits until nothing of the organization is queued or running. */
    settled: () => settled(service.sql, org.orgId),
    /** The decision on a trace as it stands. */
    async decision(traceId: string) {
      return (await client.get(`/traces/${traceId}/decision`)).body
    },
  }
}

let requests = 0

/** A tool as clients register it. */
export function toolComponent(
  name: string,
  properties: object = {},
  required: string[] = [],
  more: object = {},
) {
  const input_schema = { type: 'object', properties, required, ...more }
  return { component_type: 'tool', component_name: name, schema_json: { input_schema } }
}
