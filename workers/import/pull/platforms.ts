import type { PlatformName } from '../../../jobs/rules/import/platforms.ts'
import { langfuse } from './langfuse/langfuse.ts'
import type { Platform } from './platform.ts'

/** The platforms that can be asked. */
export const platforms: Readonly<Record<PlatformName, Platform>> = { langfuse }
