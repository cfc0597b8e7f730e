import { job } from './job.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'
import { int, shape, uuid } from './shape.ts'

/** Tries the repair of the newest traces of an old manifest; its result is what a client is shown. */
export const previewRepair = job(
  'repair.preview',
  {
    payload: shape({
      old_manifest_id: uuid(),
      new_manifest_id: uuid(),
      /** How many traces are shown before and after. */
      sample_size: int(1, 50),
    }),
  },
  MINUTES_OF_WORK,
)
