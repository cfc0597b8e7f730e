import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import { linkTraces } from '../../jobs/link-traces.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import { differingComponents, readRegistration } from '../../jobs/rules/manifest-registration.ts'
import type { ComponentName, Registration } from '../../jobs/rules/manifest-registration.ts'
import { requestDetection } from '../../jobs/detect-violations.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifest.ts'
import { freeForm, listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { activateManifest } from '../../sql/manifest-activations.ts'
import { linkNamedTraces } from '../../sql/manifest-links.ts'
import {
  findActiveManifest,
  findManifest,
  findManifestByHash,
  insertManifest,
  listComponents,
  lockAgent,
  versionLabel,
} from '../../sql/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { nullable, projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'

const registeredBody = Joi.object({
  status: Joi.string().valid('ok').required(),
  manifest_id: Joi.string().guid().required(),
  manifest_hash: Joi.string().required(),
  version_label: Joi.string().required(),
  is_new: Joi.boolean().required(),
  action: Joi.string().valid('created', 'deduped', 'reactivated').required(),
  components: Joi.number().integer().required(),
  parent_manifest_id: nullable(Joi.string().guid()),
  compatibility_report_id: nullable(Joi.string().guid()).description(
    'The analysis of the traces of the version before, which runs by itself',
  ),
  ignored_component_changes: listOf(
    Joi.object({
      component_type: Joi.string().required(),
      component_name: Joi.string().required(),
    }).label('ComponentName'),
  )
    .required()
    .description('Components that differ from the version of the same hash, whose own are kept'),
}).label('RegisteredManifest')

const body: CheckedBody<Registration> = {
  documented: shape(
    { agent_name: text() },
    {
      components: listOf(
        shape(
          { component_type: oneOf(...COMPONENT_TYPES), component_name: text() },
          { component_version: text(128), content_hash: text(), schema_json: freeForm() },
        ).label('ComponentRequest'),
      ).max(500),
      manifest_hash: text(71).description('64 hexadecimal digits, sha256: in front if you like'),
      version_label: text(),
      detection_source: text(),
      is_closed_world: Joi.boolean().default(false),
      activate: Joi.boolean().default(true),
      metadata: freeForm(),
      project: projectField,
    },
  )
    .label('ManifestRequest')
    .example({
      agent_name: 'shop-agent',
      components: [
        { component_type: 'model', component_name: 'large-2' },
        {
          component_type: 'tool',
          component_name: 'get_order',
          schema_json: { properties: { order_id: { type: 'string' } }, required: ['order_id'] },
        },
      ],
    }),
  maxBytes: 5 << 20,
  read(value) {
    const result = readRegistration(value)
    if ('value' in result) return result
    return {
      faults: result.faults.map(({ field, message }) => ({ field: `body.${field}`, message })),
    }
  },
}

export const registerManifest = endpoint('POST', '/manifests', {
  area: 'manifests',
  summary: 'Register what an agent is made of',
  description:
    'Safe to repeat: the identity of a version is its hash. A new hash makes the next version the active one; a hash of an older version makes that one active again. Traces that named the hash before are tied to the version.',
  access: 'key',
  query: shape(
    {},
    { project: projectField, draft: Joi.boolean().description('Register without activating') },
  ),
  body,
  answers: { 200: registeredBody, 201: registeredBody },
  async handle({ context, principal, query, body }) {
    const registration = { ...body, is_draft: body.is_draft || query.draft === true }
    const outcome = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const project = await writableProject(tx, principal, body.project ?? query.project)
      const { orgId } = principal
      const agent = { orgId, projectId: project.id, agentName: body.agent_name }
      return register(tx, context, principal, agent, registration)
    })
    return new Answer(outcome.is_new ? 201 : 200, outcome)
  },
})

async function register(
  tx: Transaction,
  context: ApiContext,
  { keyId }: Principal,
  agent: AgentKey,
  registration: Registration,
) {
  await lockAgent(tx, agent)
  const known = await findManifestByHash(tx, agent, registration.manifest_hash)
  const found = known ?? (await insertVersion(tx, agent, registration))
  const activates = !registration.is_draft && found.status !== 'active'
  const occasion = { queue: context.queue, createdBy: keyId, now: context.now() }
  const reportId = activates ? await activateManifest(tx, agent, found, occasion) : null
  const manifest = (await findManifest(tx, agent.orgId, found.id)) as ManifestRow
  if (!known) await linkEarlierTraces(tx, context, agent, manifest)
  return {
    status: 'ok',
    manifest_id: manifest.id,
    manifest_hash: registration.has_own_hash ? registration.shown_hash : manifest.shown_hash,
    version_label: versionLabel(manifest),
    is_new: !known,
    action: known ? (activates ? 'reactivated' : 'deduped') : 'created',
    components: manifest.components_count,
    parent_manifest_id: manifest.parent_manifest_id,
    compatibility_report_id: reportId,
    ignored_component_changes: known ? await ignoredChanges(tx, agent, known, registration) : [],
  }
}

async function insertVersion(tx: Transaction, agent: AgentKey, registration: Registration) {
  const parent = await findActiveManifest(tx, agent)
  const { is_draft: _, has_own_hash: __, project: ___, ...told } = registration
  return insertManifest(tx, agent, {
    ...told,
    id: randomUUIDv7(),
    project_id: agent.projectId,
    parent_manifest_id: parent?.id ?? null,
    // Nothing is active before its activation.
    status: 'draft',
  })
}

/** The first ones with the registration, so that its client finds them; the rest by a job. */
async function linkEarlierTraces(
  tx: Transaction,
  { queue }: ApiContext,
  agent: AgentKey,
  manifest: ManifestRow,
) {
  const { orgId, projectId } = agent
  const linked = await linkNamedTraces(tx, agent, manifest, LINKED_AT_ONCE)
  await requestJudgement(queue, tx, orgId, projectId, linked)
  await requestDetection(queue, tx, orgId, projectId, linked)
  if (linked.length < LINKED_AT_ONCE) return
  await queue.enqueue(tx, linkTraces, { manifest_id: manifest.id }, { orgId, key: manifest.id })
}

/** A client that chose the hash itself has said that nothing else counts. */
async function ignoredChanges(
  tx: Transaction,
  agent: AgentKey,
  known: ManifestRow,
  registration: Registration,
): Promise<ComponentName[]> {
  if (registration.has_own_hash || known.contract_hash === registration.contract_hash) return []
  return differingComponents(
    await listComponents(tx, agent.orgId, known.id),
    registration.components,
  )
}

const LINKED_AT_ONCE = 1000
