import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import {
  differingComponents,
  readRegistration,
} from '../../jobs/rules/manifests/manifest-registration.ts'
import type {
  ComponentName,
  Registration,
} from '../../jobs/rules/manifests/manifest-registration.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifests/manifest.ts'
import { bool, freeForm, listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listComponents } from '../../sql/manifests/manifest-components.ts'
import {
  findActiveManifest,
  findManifestByHash,
  insertManifest,
  lockAgent,
  versionLabel,
} from '../../sql/manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests/manifests.ts'
import { activateManifest } from '../../sql/transactions/activate-manifest.ts'
import { linkEarlierTraces } from '../../sql/transactions/link-traces.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { nullable, projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'
import { readManifest } from './manifest.ts'

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
      is_closed_world: bool().default(false),
      activate: bool().default(true),
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
  summary: 'Register what an agent is made of',
  description:
    'Safe to repeat: the identity of a version is its hash. A new hash makes the next version the active one; a hash of an older version makes that one active again. Traces that named the hash before are tied to the version.',
  access: 'key',
  query: shape(
    {},
    { project: projectField, draft: bool().description('Register without activating') },
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
  const occasion = { createdBy: keyId, now: context.now() }
  const reportId = activates
    ? await activateManifest(tx, context.queue, agent, found, occasion)
    : null
  const manifest = await readManifest(tx, agent.orgId, found.id)
  // Links the first ones before the client has its answer, so that it finds them.
  if (!known) await linkEarlierTraces(tx, context.queue, agent, manifest, LINKED_AT_ONCE)
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
  const { is_draft: _, has_own_hash: __, project: ___, ...content } = registration
  return insertManifest(tx, agent, {
    ...content,
    id: randomUUIDv7(),
    project_id: agent.projectId,
    parent_manifest_id: parent?.id ?? null,
    // Its activation makes it the active one.
    status: 'draft',
  })
}

/** Changes are not reported to a client that chose the hash: it decides what is the same version. */
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
