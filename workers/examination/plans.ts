import type { ThreadRequest } from './examination.ts'
import type { PlanTask, ThreadTask } from './thread-protocol.ts'

/** The plans of pairs of manifests. Few are kept, because the thread compiles schemas for each. */
export function openPlans(post: (task: ThreadTask) => void) {
  const plans = new Map<string, PlanTask>()
  let sent = new Set<number>()
  let lastId = 0

  return {
    find({ manifest, target }: ThreadRequest): PlanTask {
      const key = `${manifest?.id} ${target?.id}`
      const plan = plans.get(key) ?? { kind: 'plan', planId: ++lastId, manifest, target, slow: [] }
      plans.delete(key)
      plans.set(key, plan)
      const [oldest] = plans
      if (oldest && plans.size > MAX_PLANS) {
        plans.delete(oldest[0])
        const { planId } = oldest[1]
        if (sent.delete(planId)) post({ kind: 'forget', planId })
      }
      return plan
    },
    /** Sends a plan to the thread unless the thread has it. */
    send(plan: PlanTask) {
      if (!sent.has(plan.planId)) post(plan)
      sent.add(plan.planId)
    },
    /** Call it when the thread has ended: a new one has no plans. */
    forgetSent() {
      sent = new Set()
    },
  }
}

const MAX_PLANS = 16
