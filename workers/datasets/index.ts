import { buildDatasetHandler } from './build-dataset.ts'
import { pushDatasetHandler } from './hub/push-dataset.ts'

/** What does the jobs of the pool. */
export const handlers = [buildDatasetHandler, pushDatasetHandler]
