import { notFound } from '../../errors.ts'
import { showJob } from '../../jobs/show-job.ts'
import { html } from '../html.ts'
import { livePanel, panelEvents } from '../live.ts'
import { page } from '../page.ts'
import type { Visit } from '../page.ts'
import { jobPanel } from './job-panel.ts'

export const showJobPage = page('/jobs/{job_id}', {
  area: 'jobs',
  async show(visit) {
    const job = await readJob(visit)
    return {
      title: job.kind,
      above: [{ title: 'Jobs', href: '/console/jobs' }],
      body: html`${livePanel(`/console/jobs/${job.id}/events`, jobPanel(job, visit))}
        <p class="quiet job-id"><code>${job.id}</code></p>`,
    }
  },
})

export const jobEvents = panelEvents('/jobs/{job_id}/events', async (visit) =>
  jobPanel(await readJob(visit), { ...visit, now: visit.call.context.now() }),
)

async function readJob({ ask, params }: Visit) {
  const job = await ask(showJob, { params })
  if (job === null) throw notFound('Job')
  return job
}
