import { randomUUIDv7 } from 'node:crypto'
import { pushDataset } from '../../jobs/push-dataset.ts'
import { HUB_TOKEN, ONE_LINE, REPO_ID, REVISION } from '../../jobs/rules/datasets/hub/address.ts'
import { isRedacted } from '../../jobs/rules/datasets/redaction.ts'
import { bool, shape, text } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertPush } from '../../sql/datasets/pushes.ts'
import type { VersionRow } from '../../sql/datasets/versions.ts'
import { putSecret } from '../../sql/jobs/job-secrets.ts'
import { admitJob } from '../admit-job.ts'
import { audit } from '../audit.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import { findVisibleJob, jobBody, viewJob } from '../jobs/job.ts'
import type { Principal } from '../principal.ts'
import { findBuiltVersion, versionPath } from './version.ts'

const pushRequest = shape(
  { repo_id: text(193).pattern(REPO_ID, '<owner>/<name>') },
  {
    private: bool()
      .default(true)
      .description(
        'A repository that strangers can read is refused, and a new one is made private',
      ),
    revision: text().pattern(REVISION, 'the name of a branch').default('main'),
    token: text(1024)
      .pattern(HUB_TOKEN, 'a token')
      .description('Kept sealed until the job ends; default the one of the installation'),
    commit_message: text(500).pattern(ONE_LINE, 'one line of characters that print'),
    create_pr: bool().default(false).description('Open a pull request with the commit'),
    allow_unredacted: bool().default(false).description('Needed where `private` is false'),
  },
)
  .label('DatasetPushRequest')
  .example({ repo_id: 'acme/support-dialogues', token: 'hf_...' })

export const pushVersion = endpoint('POST', '/datasets/{dataset_id}/versions/{version}/push', {
  summary: 'Push the Parquet files of a version to a repository of the hub',
  description:
    'One commit with the card as README.md, the Parquet files and `provenance.json`; Parquet files that another version left are deleted. A repository that is not there is made. What is there already is not sent or committed again. 400 `no_token` where neither the request nor the installation has a token, 400 `unredacted` for rows without redaction and a repository that strangers can read. Redaction leaves the ids of traces, sessions and tasks as they are. With the token of the installation, a repository belongs to the organization that pushes to it first, and pushes of others fail with `hub_repo_taken`.',
  access: 'key',
  params: versionPath,
  body: pushRequest,
  answers: { 202: jobBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, body }) {
    const version = await findBuiltVersion(context, principal, params)
    if (!body.token && !context.hub.hasToken) throw noToken()
    const wasRedacted = version.redaction !== null && isRedacted(version.recipe)
    if (!body.private && !body.allow_unredacted && !wasRedacted) throw unredacted()
    const jobId = await submitPush(context, principal, version, body)
    const job = await findVisibleJob(context, principal, jobId)
    return new Answer(202, viewJob(job), { Location: `/api/v1/jobs/${job.id}`, 'Retry-After': '1' })
  },
})

async function submitPush(
  context: ApiContext,
  principal: Principal,
  { id: version_id, dataset_id, project_id }: VersionRow,
  { token, repo_id, revision, private: isPrivate, create_pr, commit_message }: PushRequest,
) {
  const { orgId } = principal
  const id = randomUUIDv7()
  const sealed = token === undefined ? undefined : await context.seal(token)
  const submission = {
    projectId: project_id,
    resultRef: `/datasets/${dataset_id}/versions/${version_id}/pushes`,
  }
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    const job_id = await admitJob(context, tx, principal, pushDataset, { push_id: id }, submission)
    if (sealed) await putSecret(tx, orgId, job_id, sealed)
    const inserted = await insertPush(tx, {
      org_id: orgId,
      id,
      dataset_id,
      version_id,
      job_id,
      repo_id,
      revision,
      private: isPrivate,
      create_pr,
      commit_message: commit_message ?? null,
      hub_url: context.hub.url,
      created_at: context.now(),
    })
    if (!inserted) throw notFound('Dataset version')
    await audit(tx, principal, 'dataset.pushed', dataset_id, {
      version_id,
      repo_id,
      private: isPrivate,
    })
    return job_id
  })
}

function noToken() {
  return new ApiError(400, 'no_token', 'Neither the request nor the installation has a token')
}

function unredacted() {
  const detail =
    'The rows were written without redaction, and strangers could read them: allow_unredacted says that this is meant'
  return new ApiError(400, 'unredacted', detail)
}

type PushRequest = Valid<typeof pushRequest>
