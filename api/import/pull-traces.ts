import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import { pullTraces as pullJob } from '../../jobs/pull-traces.ts'
import {
  CALLED_SCHEMES,
  findCalledUrlFault,
  findUrlFault,
} from '../../jobs/rules/core/outbound-address.ts'
import { CLOCK_AHEAD_MS } from '../../jobs/rules/core/time.ts'
import { KEY_NAMES, NEEDED_KEYS, PLATFORM_NAMES } from '../../jobs/rules/import/platforms.ts'
import { EARLIEST } from '../../jobs/rules/import/pull-window.ts'
import { oneOf, shape, text, time } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertImport } from '../../sql/import/imports.ts'
import { putSecret } from '../../sql/jobs/job-secrets.ts'
import { admitJob } from '../admit-job.ts'
import { audit } from '../audit.ts'
import type { ApiContext } from '../context.ts'
import { endpoint } from '../endpoint.ts'
import { projectQuery, waitHeaders } from '../fields.ts'
import { badRequest, validationError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { refuseUnreachable } from '../unreachable.ts'
import { answerLongWork } from '../wait.ts'
import {
  findImportProject,
  findVisibleImport,
  importBody,
  importOptions,
  viewImport,
} from './import.ts'

/** What may stand in a header. */
const headerText = (max: number) => text(max).pattern(/^[\x20-\x7e]+$/, 'printable ASCII')
const key = text(1024).pattern(/^[\x21-\x7e]+$/, 'a key')

const connection = shape(
  {
    base_url: Joi.string()
      .custom((url: string, helpers) => {
        const fault = findUrlFault(url, CALLED_SCHEMES) ?? findPartFault(url)
        return fault ? helpers.message({ custom: `{{#label}} ${fault}` }) : url.replace(/\/+$/, '')
      })
      .description(
        'What the paths of its API follow: `https://cloud.langfuse.com` for Langfuse, `https://api.smith.langchain.com` for LangSmith (without `/api/v1`), `https://app.phoenix.arize.com/s/<space>` or `http://host:6006` for Phoenix, `https://www.comet.com/opik/api` or `http://host:5173/api` for Opik (without `/v1`). Plain http leads into allowed private networks only',
      ),
    project: text().description('Its name or id there'),
  },
  {
    workspace: headerText(256).description('Where the platform has workspaces'),
    public_key: key.pattern(/^[^:]+$/, 'a key without a colon').description('Of Langfuse'),
    secret_key: key.description('Of Langfuse'),
    api_key: key.description('Of the other platforms'),
  },
).label('PullConnection')

const pullRequest = shape(
  { source: oneOf(...PLATFORM_NAMES), connection },
  {
    since: time()
      .min('1970-01-01T00:00:00Z')
      .description(
        'Records from then on; default 2023-01-01, before which none of the platforms was there',
      ),
    until: time().description('Up to and without; default now'),
    ...importOptions,
  },
)
  .label('PullRequest')
  .example({
    source: 'langfuse',
    connection: {
      base_url: 'https://cloud.langfuse.com',
      project: 'shop',
      public_key: 'pk-lf-...',
      secret_key: 'sk-lf-...',
    },
    since: '2026-11-01T00:00:00Z',
  })

export const pullTraces = endpoint('POST', '/import', {
  summary: 'Import traces from another platform',
  description: [
    'Reads spans by their time, from `since` up to `until`, through the API of the platform, and makes traces of them as an import of its export does: traces that the project has are skipped, and get the scores that were added since. A trace takes its spans of the range only; one whose first span was before it is stored as `partial` and named in `incomplete_trace_ids`. What a platform shows late is missed: end the range an hour ago, and begin the next where it ended, if traces are pulled regularly. Scores of Langfuse are read by their own time; those of LangSmith, Phoenix and Opik come with the runs, spans and traces that began in the range: to get later ones, pull an overlapping range again.',
    'The keys are kept sealed until the job ends, and shown nowhere; so a failed job cannot be tried again (409 `secret_gone`): send the request again. Langfuse needs `public_key` and `secret_key`. Only public addresses are called, and the networks that the operator allows; redirects are not followed.',
    'Platforms that ask for patience are waited for. A pull that fails has imported nothing of what it had read: `source_refused` (keys), `source_project_unknown`, `source_redirects`, `source_rejected`, `source_page_too_large`, `source_too_large` (over 20 GiB: pull shorter ranges), `blocked_address`, or, after several tries, `source_unavailable`, `source_unreadable` (at once where what finds the project is not the answer of such an API), `source_cursor_expired`.',
  ].join('\n\n'),
  access: 'key',
  query: projectQuery,
  body: pullRequest,
  headers: waitHeaders,
  answers: { 200: importBody, 202: importBody },
  async handle(call) {
    const { context, principal, query, body } = call
    await checkConnection(context, body)
    const submitted = await submitPull(context, principal, { ...body, ...query })
    return answerLongWork(call, submitted.jobId, 200, async () =>
      viewImport(await findVisibleImport(context, principal, submitted.id)),
    )
  },
})

/** Where keys may be: the address is stored and shown. */
function findPartFault(url: string) {
  return /[?#]/.test(url) ? 'must not have a query or a fragment' : undefined
}

async function checkConnection({ outboundNetworks }: ApiContext, body: PullRequest) {
  const { base_url, ...given } = body.connection
  const missing = NEEDED_KEYS[body.source].filter((name) => given[name] === undefined)
  if (missing.length > 0) {
    const message = `is required of ${body.source}`
    throw validationError(missing.map((name) => ({ field: `body.connection.${name}`, message })))
  }
  const fault = findCalledUrlFault(base_url, outboundNetworks)
  if (fault) throw badRequest(`connection.base_url ${fault}`)
  await refuseUnreachable('connection.base_url', base_url, outboundNetworks)
}

async function submitPull(
  context: ApiContext,
  principal: Principal,
  { source, connection: given, agent_name, dry_run, ...asked }: PullRequest,
) {
  const { orgId } = principal
  const id = randomUUIDv7()
  const created_at = context.now()
  const { since = EARLIEST, until = created_at } = asked
  if (until.getTime() > created_at.getTime() + CLOCK_AHEAD_MS) {
    throw validationError([{ field: 'body.until', message: 'must not be in the future' }])
  }
  if (since >= until) {
    const fault = asked.since
      ? { field: 'body.since', message: 'must be before until' }
      : { field: 'body.until', message: `must be after ${EARLIEST.toISOString()}, without since` }
    throw validationError([fault])
  }
  const { base_url, project, workspace } = given
  const range = { since: since.toISOString(), until: until.toISOString() }
  const keys = KEY_NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))
  const sealed = keys.length > 0 && (await context.seal(JSON.stringify(Object.fromEntries(keys))))
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    const project_id = await findImportProject(tx, principal, { project: asked.project, dry_run })
    const submission = { projectId: project_id, resultRef: `/import/${id}` }
    const payload = { import_id: id }
    const jobId = await admitJob(context, tx, principal, pullJob, payload, submission)
    if (sealed) await putSecret(tx, orgId, jobId, sealed)
    await insertImport(tx, {
      org_id: orgId,
      project_id,
      id,
      job_id: jobId,
      source,
      agent_name: agent_name ?? null,
      dry_run,
      connection: { base_url, project, workspace: workspace ?? null, ...range },
      storage_key: null,
      bytes_total: null,
      created_at,
    })
    await audit(tx, principal, 'import.pulled', id, { source, base_url, project })
    return { id, jobId }
  })
}

type PullRequest = Valid<typeof pullRequest>
