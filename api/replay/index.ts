import type { Area } from '../endpoint.ts'
import { applyRepair } from './apply-repair.ts'
import { applySelectiveRepair } from './apply-selective-repair.ts'
import { previewRepair } from './preview-repair.ts'
import { showRepair } from './show-repair.ts'

export const replay: Area = [previewRepair, applyRepair, applySelectiveRepair, showRepair]
