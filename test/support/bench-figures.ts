import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import type { BenchProgram } from '../../ops/bench/benches.ts'
import { readFigures } from '../../ops/bench/figures.ts'

/** Runs a bench in its smallest form; its figures have to be numbers. */
export async function checkFigures(t: Test, { file, args }: BenchProgram, env: NodeJS.ProcessEnv) {
  const command = [`ops/bench/${file}.ts`, ...args, '--smoke']
  const { stdout } = await promisify(execFile)(process.execPath, command, { env })
  const figures = readFigures(stdout)
  t.not(figures.length, 0, stdout)
  for (const { what, ratio, figures: text } of figures) {
    t.ok(ratio === null || Number.isFinite(ratio), `${what}: ${ratio}`)
    t.notMatch(text, /NaN|undefined|Infinity/, what)
  }
}
