// Reads the samples in a folder as an import does and prints what is in them:
//   node test/support/read-samples.ts FOLDER
// Of tau-bench/gpt-4o-airline.json that is 200 traces of 50 tasks with 1164 tool calls, 84 of them
// rewarded, none malformed.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { readRecord } from '../../jobs/rules/import/read-record.ts'
import { tauBench } from '../../jobs/rules/import/tau-bench.ts'
import { factsOf } from '../../jobs/rules/traces/trace-facts.ts'
import { readTrials } from './tau-bench.ts'

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('Usage: node test/support/read-samples.ts FOLDER')

for (const file of globSync(join(folder, 'tau-bench/*.json'))) {
  const records = readTrials(file).map((trial) => {
    const record = { ...trial }
    const options = { traceId: tauBench.traceIdOf(record), agentName: null, now: new Date() }
    const read = readRecord(record, tauBench, options)
    if ('faults' in read) throw new Error(`${file}: ${JSON.stringify(read.faults)}`)
    return read
  })
  const traces = records.map(({ trace }) => trace)
  const calls = traces.flatMap(({ llm_calls }) => llm_calls.flatMap((call) => call.tool_calls))
  const found = {
    traces: new Set(traces.map(({ trace_id }) => trace_id)).size,
    tasks: new Set(traces.map(({ task_id }) => task_id)).size,
    tool_calls: calls.length,
    rewarded: records.filter(({ scores: [reward] }) => reward?.value === 1).length,
    malformed: traces.filter((trace) => factsOf(trace).malformed !== null).length,
  }
  process.stdout.write(`${file} ${JSON.stringify(found)}\n`)
}
