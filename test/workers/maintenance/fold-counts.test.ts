import t from 'tap'
import { keepCountsFolded } from '../../../workers/maintenance/fold-counts.ts'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'

t.test('changes of counts are added up again and again, also after a failure', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const org = await service.makeOrganization()
  const warnings: string[] = []
  const log = {
    ...service.context.log,
    warn: (_: object, message: string) => warnings.push(message),
  }
  await sql`alter table trace_counts rename to hidden`
  const stop = keepCountsFolded({ sql, log })
  t.teardown(stop)
  await storeJudged(sql, org, [{ trace_id: 'one' }])
  await until(() => warnings.length > 0)
  await sql`alter table hidden rename to trace_counts`
  await until(async () => {
    const [counted] = await sql`select n from trace_counts where org_id = ${org.orgId}`
    return counted?.['n'] === 1
  })
  t.same(new Set(warnings), new Set(['changes of the counts could not be added up']))
})
