import { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import { jobPanel } from './job-panel.ts'
import { jobTitle } from './kinds.ts'

export const showJobPage = page('/jobs/{job_id}', {
  area: 'jobs',
  async show(visit) {
    const job = await read(visit)
    return {
      title: jobTitle(job.kind),
      above: [{ title: 'Jobs', href: '/console/jobs' }],
      body: html`${livePanel(`/console/jobs/${job.id}/events`, jobPanel(job, visit.now, visit.mayWrite))}
        <p class="quiet job-id"><code>${job.kind}</code> · <code>${job.id}</code></p>`,
    }
  },
})

export const jobEvents = panelEvents('/jobs/{job_id}/events', async (visit) =>
  jobPanel(await read(visit), visit.call.context.now(), visit.mayWrite),
)

async function read({ ask, params }: Visit) {
  const job = await ask(showJob, { params })
  if (!job) throw new Error('A job that was not asked for by its tag was not answered')
  return job
}
