import { shape, someOf } from '../../jobs/shape.ts'
import { KINDS } from '../../jobs/rules/import/backup/lines.ts'
import { readLinePages } from '../../sql/import/backup/line-pages.ts'
import { readStartTime } from '../../sql/import/backup/start-time.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { validationError } from '../errors.ts'
import { fileOf } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { backupStream } from './backup-stream.ts'
import { enterExports } from './export-room.ts'

const NAMES = KINDS.map(({ name }) => name)
const FOLLOWERS = KINDS.flatMap(({ name, isFollower }) => (isFollower ? [name] : []))

export const exportBackup = endpoint('GET', '/export/backup', {
  summary: 'Everything of the organization as JSON Lines',
  description:
    'The first line is `{"kind":"backup","format":1}`, the last one `{"kind":"end","counts":{},"sha256":""}` with the number of lines of each kind and the SHA-256 of all bytes before it: a file without it is not whole. What was there when the request came is in it, each trace followed by its scores, annotations and verdict; what was made later is not. Keys, secrets, jobs, usage and what was published are never in it, nor the rows of datasets, which are built again. `POST /import/jsonl` takes the file, in this or any other organization, and equal content gives equal bytes. A global key needs admin permission; a key of a workspace or a project gets what is of its projects. Two at a time of an organization; one whose client takes nothing for five minutes is broken off.',
  access: 'key-or-admin',
  aggregates: true,
  query: shape(
    {},
    {
      kinds: someOf(...NAMES).description(
        'Kinds of lines, separated by commas; default all. `trace` comes without what follows traces unless that is named too, and what follows them comes with `trace` only.',
      ),
    },
  ),
  answers: {
    200: fileOf('application/x-ndjson'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { orgId, workspaceId } = principal
    const named = new Set<string>(query.kinds?.split(',') ?? NAMES)
    if (!named.has('trace') && FOLLOWERS.some((name) => named.has(name))) throw traceless()
    const leave = enterExports(orgId)
    try {
      const projectIds = await readableProjects(sql, principal, undefined)
      const until = await readStartTime(sql)
      const kinds = KINDS.filter(({ name }) => named.has(name))
      const pages = readLinePages(sql, { orgId, projectIds, workspaceId, until }, kinds)
      return new Answer(200, backupStream(pages).once('close', leave), {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': 'attachment; filename="backup.jsonl"',
      })
    } catch (error) {
      leave()
      throw error
    }
  },
})

/** No import could take such a file. */
function traceless() {
  const message = `must have trace beside what follows traces: ${FOLLOWERS.join(', ')}`
  return validationError([{ field: 'query.kinds', message }])
}
