import { readFileSync } from 'node:fs'

/**
 * A result file as tau-bench writes them, of our own making: ten trials of four tasks at a library's
 * desk, of which four were rewarded. Of tasks 0 and 2 one trial of three was, of task 1 both, of task
 * 3 neither. Each two trials of a task differ first in what the simulated user says.
 */
export const TAU_BENCH_FILE = 'test/samples/tau-bench.json'

export interface Trial {
  readonly task_id: number
  readonly trial: number
  /** 0 or 1. */
  readonly reward: number
  readonly info: object
  readonly traj: readonly object[]
}

export function readTrials(file = TAU_BENCH_FILE) {
  return JSON.parse(readFileSync(file, 'utf8')) as readonly Trial[]
}
