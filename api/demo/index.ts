import type { Area } from '../endpoint.ts'
import { cleanUp } from './clean-up.ts'
import { seedImpact } from './seed-impact.ts'
import { seedSkills } from './seed-skills.ts'

export const demo: Area = [seedImpact, seedSkills, cleanUp]
