import { bodyAttacks } from './attack-bodies.ts'
import { floodAttacks } from './attack-floods.ts'
import { poisonTrace } from './attack-poison.ts'
import type { Attack } from './attack-stage.ts'

export const ATTACKS: readonly Attack[] = [...bodyAttacks, poisonTrace, ...floodAttacks]
