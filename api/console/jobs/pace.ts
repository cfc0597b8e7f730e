interface PacedJob {
  readonly done: boolean
  readonly created_at: Date
  readonly started_at: Date | null
  readonly finished_at: Date | null
  readonly progress: { readonly done: number; readonly percent: number | null }
}

/** How long a job has waited and run, and by its mean speed until now, how long it still takes. */
export function paceOf(
  { done, created_at, started_at, finished_at, progress }: PacedJob,
  now: Date,
) {
  const until = (finished_at ?? now).getTime()
  const tookMs = started_at ? Math.max(0, until - started_at.getTime()) : 0
  const percent = progress.percent ?? 0
  return {
    tookMs,
    waitedMs: Math.max(0, (started_at ?? new Date(until)).getTime() - created_at.getTime()),
    /** Whole units; null where there is no speed to tell. */
    perSecond: tookMs > 0 && progress.done > 0 ? Math.round(progress.done / (tookMs / 1000)) : null,
    leftMs: !done && percent > 0 ? (tookMs / percent) * (100 - percent) : undefined,
  }
}
