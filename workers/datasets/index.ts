import { buildDatasetHandler } from './build-dataset.ts'
import { pushDatasetHandler } from './hub/push-dataset.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [buildDatasetHandler, pushDatasetHandler]
