import { cardOf } from '../../jobs/rules/datasets/card.ts'
import { findCardFacts } from '../../sql/datasets/card-facts.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, fileOf } from '../fields.ts'
import { findBuiltVersion, versionPath } from './version.ts'

export const showCard = endpoint('GET', '/datasets/{dataset_id}/versions/{version}/card', {
  summary: 'Read the card of a version',
  description:
    'Markdown with a front matter of YAML, as dataset hubs read it: license, files, columns and counts. Below it what the rows are: filters, verdicts, policies, agent versions, scores, what was left out, redaction, warnings and known limits. It holds no text of traces. The same version has the same card as long as name and license of the dataset stay. A version that came from a backup has no files to tell of: 409 `not_built`.',
  access: 'key',
  params: versionPath,
  answers: {
    200: fileOf('text/markdown'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params }) {
    const { id } = await findBuiltVersion(context, principal, params)
    const facts = await findCardFacts(context.sql, principal.orgId, id)
    if (!facts) throw notFound('Dataset version')
    return new Answer(200, cardOf(facts), {
      'Content-Type': 'text/markdown; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
    })
  },
})
