export const PLANS = ['free', 'core', 'pro', 'enterprise'] as const
export type Plan = (typeof PLANS)[number]

/** A token bucket: holds `burst` tokens and gains `perMinute` of them in a minute. */
export interface Rate {
  readonly perMinute: number
  readonly burst: number
}

/** Requests of one key over the whole interface. An enterprise organization may have more. */
export const PLAN_RATES: Readonly<Record<Plan, Rate>> = {
  free: { perMinute: 60, burst: 10 },
  core: { perMinute: 120, burst: 20 },
  pro: { perMinute: 300, burst: 50 },
  enterprise: { perMinute: 1000, burst: 200 },
}

/**
 * Over all its keys an organization has a bucket this many times that of one key, in rate and burst:
 * more keys do not make more requests.
 */
export const ORGANIZATION_CEILING = 3

/** Keys of an organization that are neither revoked nor expired. */
export const LIVE_KEYS: Readonly<Record<Plan, number>> = {
  free: 10,
  core: 50,
  pro: 200,
  enterprise: 1000,
}

/** Requests of one client address that come without a good credential. */
export const ANONYMOUS_RATE: Rate = { perMinute: 30, burst: 10 }

/** What an organization has a monthly quota of. */
export const METRICS = ['traces_ingested', 'sft_rows', 'regression_checks'] as const
export type Metric = (typeof METRICS)[number]

export type ByPlan = Readonly<Record<Plan, number>>

/** Quotas of each metric by plan. */
export type Quotas = Readonly<Record<Metric, ByPlan>>

export const DEFAULT_QUOTAS: Quotas = {
  traces_ingested: { free: 5000, core: 10_000, pro: 100_000, enterprise: 10_000_000 },
  sft_rows: { free: 500, core: 5000, pro: 50_000, enterprise: 10_000_000 },
  regression_checks: { free: 50, core: 500, pro: 5000, enterprise: 1_000_000 },
}

/**
 * Bytes of uploads that an organization may have stored at the same time. An upload is stored until its
 * import has ended.
 */
export const UPLOAD_BYTES: ByPlan = {
  free: 2 ** 30,
  core: 10 * 2 ** 30,
  pro: 50 * 2 ** 30,
  enterprise: 500 * 2 ** 30,
}

/** The calendar month, in UTC, that a time is in; `end` is the start of the next one. */
export function quotaPeriod(at: Date): { start: Date; end: Date } {
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) }
}

/**
 * Jobs of one kind that an organization may have waiting. Further ones are refused until some have
 * begun, so that a client in a loop fills neither the queue nor its own next hours.
 */
export const WAITING_JOBS: ByPlan = {
  free: 25,
  core: 100,
  pro: 500,
  enterprise: 10_000,
}

/**
 * Requests of an organization that one API process works on at once, besides those that wait for jobs.
 * Clients that send batches have 4 to 16 under way.
 */
export const CONCURRENT_REQUESTS: Readonly<Record<Plan, number>> = {
  free: 32,
  core: 48,
  pro: 64,
  enterprise: 128,
}
