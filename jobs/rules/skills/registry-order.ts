/** What the skills of the registry are put in order by, and how it is told of each. */

/** What clients call the orders, and which each is. */
export const REGISTRY_SORTS = {
  recommended: 'score',
  effectiveness: 'score',
  skill_score: 'score',
  top_rated: 'rating',
  rating: 'rating',
  biggest_improvement: 'lift',
  efficiency: 'saving',
  installs: 'installs',
  popular: 'installs',
  recent: 'time',
} as const
export type RegistrySort = keyof typeof REGISTRY_SORTS
export type RegistryOrder = (typeof REGISTRY_SORTS)[RegistrySort]

/** What skills are compared by. Null where a skill has no evidence of it. */
export interface Measured {
  /** 0 to 1, as are the others but for the last two. */
  readonly score: number | null
  /** The lower bound of what raters say of it. */
  readonly rating: number | null
  readonly rating_count: number
  /** How much more of the cases pass with it. */
  readonly lift: number | null
  /** The share of tokens that it saves; below 0 where it costs some. */
  readonly token_saving: number | null
  readonly install_count: number
  readonly published_at: Date
}

export interface Metric {
  readonly name: RegistryOrder
  /** A number, or an RFC 3339 time. */
  readonly value: number | string | null
  /** For people. */
  readonly label: string
}

/** The value by which an order puts a skill in its place. */
export function metricOf(order: RegistryOrder, skill: Measured): Metric {
  switch (order) {
    case 'score':
      return { name: order, value: skill.score, label: skill.score?.toFixed(2) ?? 'New' }
    case 'rating':
      return { name: order, value: skill.rating, label: labelRating(skill) }
    case 'lift':
      return { name: order, value: skill.lift, label: labelLift(skill.lift) }
    case 'saving':
      return { name: order, value: skill.token_saving, label: labelSaving(skill.token_saving) }
    case 'installs':
      return { name: order, value: skill.install_count, label: labelInstalls(skill.install_count) }
    case 'time': {
      const time = skill.published_at.toISOString()
      return { name: order, value: time, label: time.slice(0, 10) }
    }
  }
}

function labelRating({ rating, rating_count: count }: Measured) {
  if (rating === null) return 'Not rated'
  return `${rating.toFixed(2)} by ${count} ${count === 1 ? 'rating' : 'ratings'}`
}

function labelLift(lift: number | null) {
  if (lift === null) return 'No benchmark'
  return `${lift < 0 ? '' : '+'}${(100 * lift).toFixed(1)} points`
}

function labelSaving(saving: number | null) {
  if (saving === null) return 'No benchmark'
  const percent = (100 * Math.abs(saving)).toFixed(1)
  return `${percent} % ${saving < 0 ? 'more' : 'fewer'} tokens`
}

function labelInstalls(count: number) {
  return `${count} ${count === 1 ? 'install' : 'installs'}`
}
