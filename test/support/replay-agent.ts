import type { Service } from './service.ts'

/** An organization of its own with an agent of two versions, whose traces are to be replayed. */
export async function makeReplayAgent(service: Service) {
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  async function register(components: readonly object[], agent_name = 'agent'): Promise<string> {
    const manifest = { agent_name, components: [...components, model], activate: true }
    return (await client.post('/manifests', manifest)).body.manifest_id
  }
  const source = await register([])
  const target = await register([{ component_type: 'tool', component_name: 'search' }])
  let stored = 0
  return {
    ...org,
    client,
    /** Versions: the traces are to be replayed as the target, which is active. */
    source,
    target,
    /** Registers a version, which becomes the active one, and returns its id. */
    register,
    /** Stores a trace of one LLM call, and returns its id. */
    async store(call: object = {}, more: object = {}): Promise<string> {
      const rendered_input = [{ role: 'user', content: `request ${++stored}` }]
      const llm_calls = [{ rendered_input, output: { content: 'done' }, ...call }]
      const trace = { agent_name: 'agent', llm_calls, ...more }
      return (await client.post('/traces', trace)).body.trace_id
    },
  }
}

const model = { component_type: 'model', component_name: 'gpt-4o' }
