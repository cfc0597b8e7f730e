import type { Plan } from '../../jobs/rules/org/plan.ts'
import type { Service } from './service.ts'
import { storeJudged } from './stored-traces.ts'

/** Of the traces to store. Functions are called with the place of each. */
export interface StoredTraffic {
  /** What each calls, with arguments that fit. */
  readonly tool: 'search' | 'refund'
  /** Default 1; null for traces without scores. */
  readonly quality?: number | null | ((i: number) => number)
  readonly more?: (i: number) => object
}

export type RegisteredAgent = Awaited<ReturnType<typeof registeredAgent>>

/** An organization of its own with an agent whose versions and traces a test makes. */
export async function registeredAgent(service: Service, plan?: Plan) {
  const { orgId, workspaceId, projectId, key } = await service.makeOrganization(plan)
  const client = service.client(key)
  const agent = 'agent'
  let stored = 0
  return {
    orgId,
    workspaceId,
    projectId,
    key,
    client,
    agent,
    /** Registers a version, which becomes the active one, and returns its id. */
    async register(components: readonly unknown[]): Promise<string> {
      const manifest = { agent_name: agent, components, activate: true }
      return (await client.post('/manifests', manifest)).body.manifest_id
    },
    /** Registers a candidate as CI does, and returns its id. */
    async propose(components: readonly unknown[]): Promise<string> {
      const { body } = await client.post('/manifests', { agent_name: agent, components })
      return body.manifest_id
    },
    /** Stores judged traces of a version as if they were just recorded, and returns their ids. */
    async traces(manifestId: string, n: number, { tool, quality = 1, more }: StoredTraffic) {
      const ids = Array.from({ length: n }, () => `t${++stored}`)
      const args = tool === 'search' ? { q: 'x' } : { id: '1' }
      const call = {
        model_name: 'gpt-4o',
        rendered_input: [{ role: 'user', content: 'hello' }],
        output: { content: 'done' },
        tool_calls: [{ tool_name: tool, args }],
      }
      await storeJudged(
        service.sql,
        { orgId, projectId },
        ids.map((trace_id, i) => ({
          trace_id,
          agent_name: agent,
          manifest_id: manifestId,
          started_at: new Date(Date.now() - 60_000 + i).toISOString(),
          user_input_preview: 'hello',
          llm_calls: [call],
          quality: typeof quality === 'function' ? quality(i) : quality,
          ...more?.(i),
        })),
      )
      return ids
    },
  }
}
