// Runs the benches one after another and writes what they report into the table of measured figures in
// ops/docs/performance.md; rows of benches that are not run stay:
// [DATABASE_URL=...] node ops/bench/run.ts [--only auth,queue]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { BENCHES, commandOf } from './benches.ts'
import type { BenchProgram } from './benches.ts'
import { readFigures } from './figures.ts'
import { addMeasured } from './measured-table.ts'

const DOCUMENT = 'ops/docs/performance.md'
const { values } = parseArgs({ options: { only: { type: 'string' } } })
for (const bench of chosen(values.only)) {
  const [load = 0] = loadavg()
  const day = new Date().toISOString().slice(0, 10)
  process.stdout.write(`${commandOf(bench)}\n`)
  const figures = await run(bench)
  const measured = `${day}, ${availableParallelism()} cores, load ${load.toFixed(1)} before`
  await writeFile(DOCUMENT, addMeasured(await readFile(DOCUMENT, 'utf8'), figures, measured))
}

/** @throws RangeError for a bench that there is not */
function chosen(only: string | undefined) {
  if (only === undefined) return BENCHES
  return only.split(',').map((name) => {
    const found = BENCHES.find((bench) => bench.name === name)
    if (found) return found
    throw new RangeError(`--only names benches of ${BENCHES.map((bench) => bench.name).join(', ')}`)
  })
}

/** Shows what a bench writes while it runs. A failed one fails the command. */
async function run({ file, args }: BenchProgram) {
  const child = spawn(process.execPath, [`ops/bench/${file}.ts`, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text
    process.stdout.write(text)
  }
  const [code]: unknown[] = await ended
  if (code !== 0) process.exitCode = 1
  return readFigures(output)
}
