import { createHash } from 'node:crypto'
import Joi from 'joi'
import { cut, isObject } from '../../jobs/rules/core/reader.ts'
import type { BenchmarkCase } from '../../jobs/rules/skills/benchmark-run.ts'
import { listOf, shape, text, time } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { CheckedBody } from '../endpoint.ts'
import { ALL_FAULTS, faultsOf } from '../errors.ts'
import { benchmarkCase, readCase, runnerCase } from './benchmark-case.ts'
import { MAX_CASES } from './benchmark.ts'
import { versionField } from './version.ts'
import type { SentBenchmark } from './benchmark.ts'
import { hashField } from './members.ts'

const runnerField = shape({}, { name: text(), version: text(), adapter_identity: text() }).label(
  'BenchmarkRunner',
)

const members = {
  suite: text().description('Default `skill.name`, else `eval`'),
  suite_sha256: hashField.description('Default the SHA-256 of the names of the cases'),
  skill: shape({}, { name: text() }),
  version: versionField,
  runner: Joi.alternatives<string | Valid<typeof runnerField>>(text(), runnerField),
  run_at: time().description('Default `completed_at`, else now'),
  completed_at: time(),
}

/** What runners write, transcripts included. */
const MAX_DOCUMENT_BYTES = 12 << 20

/** The results of a runner. Cases that cannot be read are left out, and told. */
export const benchmarkDocument: CheckedBody<BenchmarkDocument> = {
  documented: shape(
    { cases: listOf(Joi.alternatives(benchmarkCase, runnerCase)).min(1).max(MAX_CASES) },
    members,
  )
    .label('BenchmarkDocument')
    .example({
      runner: { name: 'skillevaluation-reference-runner', version: '0.8.0' },
      completed_at: '2026-01-02T03:04:05Z',
      cases: [{ case_name: 'late-parcel', outcome: 'flip_to_pass' }],
    }),
  maxBytes: MAX_DOCUMENT_BYTES,
  read(value, { now }) {
    const { error, value: document } = outer.validate(value, ALL_FAULTS)
    if (error) return { faults: faultsOf('body', error) }
    const { cases, skipped } = readCases(document.cases)
    if (cases.length === 0) {
      return { faults: [{ field: 'body.cases', message: 'must hold a case that can be read' }] }
    }
    const { suite, skill, suite_sha256, version, runner, run_at, completed_at } = document
    const run = {
      suite: suite ?? skill?.name ?? 'eval',
      suite_sha256: suite_sha256 ?? hashNames(cases),
      version,
      runner: nameRunner(runner),
      run_at: run_at ?? completed_at ?? now,
      cases,
    }
    return { value: { run, skipped } }
  },
}

const outer = shape({ cases: listOf(Joi.any()).min(1).max(MAX_CASES) }, members)

function readCases(sent: readonly unknown[]) {
  const known = new Set<string>()
  const cases: BenchmarkCase[] = []
  const skipped: string[] = []
  for (const [index, value] of sent.entries()) {
    const read = readCase(value)
    if (read && !known.has(read.case_id)) {
      known.add(read.case_id)
      cases.push(read)
    } else skipped.push(read?.case_id ?? nameOf(value) ?? `#${index + 1}`)
  }
  return { cases, skipped }
}

function nameOf(value: unknown) {
  const name = isObject(value) ? (value['case_name'] ?? value['case_id']) : undefined
  return typeof name === 'string' && name !== '' ? cut(name, MAX_NAME_SHOWN) : undefined
}

/** Which cases they are is all that tells a suite from another one, where the document has no hash. */
function hashNames(cases: readonly BenchmarkCase[]) {
  const names = cases.map(({ case_id }) => case_id).toSorted()
  return createHash('sha256').update(JSON.stringify(names)).digest('hex')
}

function nameRunner(runner: Valid<typeof members.runner> | undefined) {
  if (typeof runner === 'string') return runner
  const parts = [runner?.name ?? 'unnamed', runner?.version, runner?.adapter_identity]
  return cut(parts.filter((part) => part !== undefined).join(' '), MAX_NAME_SHOWN)
}

const MAX_NAME_SHOWN = 256

export interface BenchmarkDocument {
  readonly run: SentBenchmark
  /** Names of cases that were left out. */
  readonly skipped: readonly string[]
}
