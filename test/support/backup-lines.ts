import { createHash, randomUUID } from 'node:crypto'
import { endLine, HEADER, KINDS } from '../../jobs/rules/import/backup/lines.ts'
import type { KindName } from '../../jobs/rules/import/backup/lines.ts'
import { trace as traceKind } from '../../jobs/rules/import/backup/trace-kinds.ts'

export type TestLine = Readonly<Record<string, unknown>> & { readonly kind: string }

/** A backup of lines that a test makes itself: with the first line, and a last one that is right. */
export function backupOf(lines: readonly TestLine[]): string {
  const text = HEADER + lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const counts: Partial<Record<KindName, number>> = {}
  for (const { name } of KINDS) {
    const count = lines.filter(({ kind }) => kind === name).length
    if (count > 0) counts[name] = count
  }
  return text + endLine({ counts, sha256: createHash('sha256').update(text).digest('hex') })
}

/** A trace with a call, as a backup has it. */
export function traceLine(
  traceId: string,
  given: Readonly<Record<string, unknown>> = {},
): TestLine {
  const none = Object.fromEntries(
    traceKind.members.map(({ name, type }) => [name, type === 'texts' ? [] : null]),
  )
  return {
    kind: 'trace',
    ...none,
    project: 'default',
    trace_id: traceId,
    agent_name: 'shop',
    status: 'success',
    source_type: 'production',
    started_at: '2026-03-01T10:00:00.000Z',
    created_at: '2026-03-01T10:00:05.000Z',
    metadata: {},
    session_metadata: {},
    active_skills: [],
    is_imported: false,
    made_of_spans: false,
    revision: 0,
    spans: [],
    llm_calls: [
      {
        id: 'call-0',
        rendered_input: [{ role: 'user', content: `Where is ${traceId}?` }],
        output: { role: 'assistant', content: `${traceId} is here` },
        tool_calls: [],
      },
    ],
    ...given,
  }
}

export function scoreLine(
  traceId: string,
  given: Readonly<Record<string, unknown>> = {},
): TestLine {
  return {
    kind: 'score',
    project: 'default',
    trace_id: traceId,
    name: 'judge',
    source: 'custom',
    span_id: '',
    identifier: '',
    score_id: randomUUID(),
    value: 0.75,
    data_type: 'numeric',
    category: 'quality',
    source_kind: 'custom',
    metadata: {},
    created_at: '2026-03-02T10:00:00.000Z',
    updated_at: '2026-03-03T10:00:00.000Z',
    ...given,
  }
}

export function verdictLine(
  traceId: string,
  given: Readonly<Record<string, unknown>> = {},
): TestLine {
  return {
    kind: 'verdict',
    project: 'default',
    trace_id: traceId,
    verdict: 'keep',
    needs_review: false,
    quality_avg: 0.75,
    reasons: [{ rule: 1, code: 'quality.high', subject: 'quality', message: 'It is good' }],
    policy_agent_name: '',
    policy_version: 0,
    decided_at: '2026-03-04T10:00:00.000Z',
    ...given,
  }
}
