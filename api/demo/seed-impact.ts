import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import { DEMO_AGENT } from '../../jobs/rules/demo/fixture.ts'
import { makeImpact } from '../../jobs/rules/demo/impact.ts'
import { readRegistration } from '../../jobs/rules/manifests/manifest-registration.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listDemoManifests } from '../../sql/demo/demo-agents.ts'
import { insertActivation } from '../../sql/manifests/manifest-activations.ts'
import { insertManifest } from '../../sql/manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests/manifests.ts'
import { removeDemoAgent } from '../../sql/transactions/remove-demo-agent.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { fixtureField, lockDemoAgent, putTraces, readTraces, seedQuery } from './demo.ts'

const seededBody = Joi.object({
  status: Joi.string().valid('created', 'already_exists').required(),
  message: Joi.string().required(),
  agent_name: Joi.string().required(),
  v1_manifest_id: Joi.string().guid().required(),
  v2_manifest_id: Joi.string().guid().required().description('The candidate of a regression check'),
  traces: Joi.number().integer().required().description('Stored by this request'),
  fixture: fixtureField,
}).label('SeededImpact')

export const seedImpact = endpoint('POST', '/demo/seed-impact', {
  summary: 'Put an agent into the organization whose second version breaks recorded traffic',
  description:
    'Two manifests, the first of them active, and traces of it, for whoever tries a regression check: one of the second version finds that refunds need an approval now. Counts against no quota and sends no events. 409 where the organization has an agent of its own by that name.',
  access: 'key',
  query: seedQuery,
  answers: { 200: seededBody, 201: seededBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, query }) {
    const { manifests, traces } = makeImpact(context.now())
    const sent = await readTraces(context, traces)
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const project = await writableProject(tx, principal, query.project)
      const { orgId, keyId } = principal
      const agent = { orgId, projectId: project.id, agentName: DEMO_AGENT }
      await lockDemoAgent(tx, agent)
      const [v1, v2] = await listDemoManifests(tx, agent)
      if (v1 && v2 && !query.force) {
        return view('already_exists', 'The demo agent is there already', v1.id, v2.id, 0)
      }
      await removeDemoAgent(tx, context.queue, agent)
      const first = await addManifest(tx, agent, manifests[0], { keyId })
      await insertActivation(tx, agent, {
        manifestId: first.id,
        previousId: null,
        kind: 'created',
        createdBy: keyId,
      })
      const second = await addManifest(tx, agent, manifests[1], { keyId, parentId: first.id })
      await putTraces(tx, context.queue, agent, sent)
      const message = `Check version v2 of ${DEMO_AGENT} to see what it breaks`
      return new Answer(201, view('created', message, first.id, second.id, sent.length))
    })
  },
})

/** Adds a version without an event: the first is active, and what follows a draft that stays one. */
async function addManifest(
  tx: Transaction,
  agent: AgentKey,
  manifest: object | undefined,
  { keyId, parentId = null }: { keyId: string; parentId?: string | null },
): Promise<ManifestRow> {
  const read = readRegistration(manifest)
  if ('faults' in read) throw new Error(`A demo manifest is faulty: ${JSON.stringify(read.faults)}`)
  return insertManifest(tx, agent, {
    ...read.value,
    id: randomUUIDv7(),
    project_id: agent.projectId,
    parent_manifest_id: parentId,
    status: parentId === null ? 'active' : 'draft',
    is_held: parentId !== null,
    created_by: keyId,
  })
}

function view(status: string, message: string, v1: string, v2: string, traces: number) {
  const ids = { v1_manifest_id: v1, v2_manifest_id: v2 }
  return { status, message, agent_name: DEMO_AGENT, ...ids, traces, fixture: true }
}
