import { LEASE_SECONDS, MAX_LEASE_SECONDS } from '../../jobs/rules/replay/attempts.ts'
import { int } from '../../jobs/shape.ts'
import { ApiError } from '../errors.ts'

export const leaseSecondsField = int(1, MAX_LEASE_SECONDS)
  .default(LEASE_SECONDS)
  .description('How long the lease holds from now on')

export const leaseLost = () =>
  new ApiError(409, 'lease_lost', 'The lease is not the present one of the task')
