import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import { manifestHashForms } from '../../jobs/rules/manifests/manifest-hash.ts'
import {
  activatesAtOnce,
  differingComponents,
  NEEDED,
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
  findManifestByHash,
  findNextParent,
  holdDraft,
  insertManifest,
  lockAgent,
  versionLabel,
} from '../../sql/manifests/manifests.ts'
import type { AgentKey, ManifestRow } from '../../sql/manifests/manifests.ts'
import { activateManifest } from '../../sql/transactions/activate-manifest.ts'
import { announceManifest } from '../../sql/transactions/announce-manifest.ts'
import { linkEarlierTraces } from '../../sql/transactions/link-traces.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { validationError } from '../errors.ts'
import { nullable, projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
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
    'The analysis of the traces of the version before, which an activation starts; null for a draft',
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

const DRAFT =
  'Supersedes nothing by being registered, also as the first version or by the hash of an older one'

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
      activate: bool().description(
        'true: active at once; false: a draft, whatever traffic runs, until it is activated or a check of it accepted; default: as above',
      ),
      draft: bool().default(false).description(DRAFT),
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
  maxBytes: MAX_BODY_BYTES,
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
    'Safe to repeat: the identity of a version is its hash. The first version of an agent is active at once. A new hash makes the next version, a draft: it becomes the active one with the first production trace stored under it, when it is activated, or when a regression check of it is accepted. A hash of an older version makes that one active again. Traces that named the hash before are tied to the version. Components may only be left out when `manifest_hash` is that of a known version.',
  access: 'key',
  query: shape({}, { project: projectField, draft: bool().description(DRAFT) }),
  body,
  answers: { 200: registeredBody, 201: registeredBody },
  async handle({ context, principal, query, body }) {
    const registration = { ...body, is_draft: body.is_draft || query.draft === true }
    const outcome = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const project = await writableProject(tx, principal, query.project)
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
  const occasion = { createdBy: keyId, now: context.now() }
  await lockAgent(tx, agent)
  const { manifest_hash, has_own_hash, components } = registration
  // The same components may have been told before with their hashes in another form.
  const others = has_own_hash ? [] : manifestHashForms(components)
  const known = await findManifestByHash(tx, agent, [manifest_hash, ...others])
  const { manifest, activates } = known
    ? { manifest: known, activates: activatesAtOnce(registration, known.status) }
    : await addVersion(tx, context, agent, registration, keyId)
  if (known?.status === 'draft' && registration.activate === false) {
    await holdDraft(tx, agent.orgId, known.id)
  }
  const kind = kindOf(known)
  const reportId = activates
    ? await activateManifest(tx, context.queue, { agent, manifest, kind }, occasion)
    : null
  // Links the first ones before the client has its answer, so that it finds them.
  if (!known) await linkEarlierTraces(tx, context.queue, agent, manifest, LINKED_AT_ONCE)
  return {
    status: 'ok',
    manifest_id: manifest.id,
    manifest_hash: has_own_hash ? registration.shown_hash : manifest.shown_hash,
    version_label: versionLabel(manifest),
    is_new: !known,
    action: actionOf(known, activates),
    components: manifest.components_count,
    parent_manifest_id: manifest.parent_manifest_id,
    compatibility_report_id: reportId,
    ignored_component_changes: known ? await ignoredChanges(tx, agent, known, registration) : [],
  }
}

/** Inserts the next version, which its activation makes the active one, and announces it. */
async function addVersion(
  tx: Transaction,
  { queue, now }: ApiContext,
  agent: AgentKey,
  registration: Registration,
  keyId: string,
) {
  if (registration.components.length === 0) {
    throw validationError([{ field: 'body.components', message: NEEDED }])
  }
  const parent = await findNextParent(tx, agent)
  const { activate, is_draft: _, has_own_hash: __, project: ___, ...content } = registration
  const manifest = await insertManifest(tx, agent, {
    ...content,
    id: randomUUIDv7(),
    project_id: agent.projectId,
    parent_manifest_id: parent?.id ?? null,
    status: 'draft',
    is_held: activate === false,
    created_by: keyId,
  })
  const activates = activatesAtOnce(registration, parent ? 'new' : 'first')
  const status = activates ? 'active' : 'draft'
  await announceManifest(tx, queue, agent, { manifest, status, parent }, now())
  return { manifest, activates }
}

function actionOf(known: ManifestRow | undefined, activates: boolean) {
  if (!known) return 'created'
  return activates && known.status === 'superseded' ? 'reactivated' : 'deduped'
}

function kindOf(known: ManifestRow | undefined) {
  if (!known) return 'created'
  return known.status === 'draft' ? 'activated' : 'reactivated'
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
