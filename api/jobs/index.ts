import type { Area } from '../endpoint.ts'
import { cancelJob } from './cancel-job.ts'
import { listJobs } from './list-jobs.ts'
import { retryJob } from './retry-job.ts'
import { showJobStats } from './show-job-stats.ts'
import { showJob } from './show-job.ts'

export const jobs: Area = [listJobs, showJobStats, showJob, cancelJob, retryJob]
