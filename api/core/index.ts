import type { Area } from '../endpoint.ts'
import { showLiveness } from './show-liveness.ts'
import { showReadiness } from './show-readiness.ts'
import { showVersion } from './show-version.ts'

export const core: Area = {
  health: [showLiveness, showReadiness, showVersion],
}
