import type { PlatformName } from '../../../jobs/rules/import/platforms.ts'
import { langfuse } from './langfuse.ts'
import { langsmith } from './langsmith.ts'
import { opik } from './opik.ts'
import { phoenix } from './phoenix.ts'
import type { Platform } from './platform.ts'

/** The platforms that can be asked. */
export const platforms: Readonly<Record<PlatformName, Platform>> = {
  langfuse,
  langsmith,
  phoenix,
  opik,
}
