import { DAY_MS } from '../core/time.ts'

/** Files as people bring them along, for imports that do not go smoothly. */

/** Our own lines, some of which are none. */
export function faultyLines(now: Date) {
  const started_at = new Date(now.getTime() - 30 * DAY_MS).toISOString()
  const trace = (no: number, more: object = {}) =>
    JSON.stringify({
      trace_id: `archive-${no}`,
      agent_name: 'archive-agent',
      started_at,
      source_type: 'imported',
      user_input_preview: `Which shelf is box ${no} on?`,
      final_output_preview: `Box ${no} is on shelf ${no % 7}.`,
      scores: [{ name: 'helpfulness', source: 'llm_judge', score: 0.9 }],
      ...more,
    })
  return [
    ...Array.from({ length: 12 }, (_, i) => trace(i + 1)),
    '{"trace_id": "archive-13", "agent_name": "archive-agent", "user_input',
    trace(14, { started_at: 'last Tuesday' }),
    trace(15, { status: 'finished, more or less' }),
    '"Box 16 is on shelf 2."',
    trace(17, { llm_calls: 'none' }),
    trace(18, { trace_id: '' }),
    trace(3),
    ...Array.from({ length: 5 }, (_, i) => trace(i + 20)),
  ].join('\n')
}

/** An export of another platform, not all of which has a place here. */
export function foreignExport(now: Date) {
  const at = (minutes: number) =>
    new Date(now.getTime() - 40 * DAY_MS + minutes * 60_000).toISOString()
  const run = (no: number) => {
    const traceId = `parcel-desk-${no}`
    const question = `Where is parcel ${no}?`
    const answer = `It is in ${['Utrecht', 'Ghent', 'Lille', 'Basel'][no % 4]}.`
    return [
      {
        id: traceId,
        name: 'parcel-desk',
        timestamp: at(no),
        environment: 'staging',
        tags: ['parcels'],
        bookmarked: false,
        public: false,
        release: 'r7',
        version: '1.2.0',
        userId: `user-${no % 4}`,
        sessionId: `desk-${no % 3}`,
        input: { question },
        output: answer,
        metadata: {},
      },
      {
        id: `${traceId}-call`,
        traceId,
        type: 'GENERATION',
        name: 'parcel-desk',
        startTime: no === 4 ? 'around noon' : at(no),
        endTime: at(no + 0.05),
        model: 'example-large-2',
        input: [
          { role: 'system', content: 'You tell people where their parcels are.' },
          {
            role: 'user',
            content:
              no === 2
                ? [
                    { type: 'image_url', image_url: 'x' },
                    { type: 'hologram', of: 'a parcel' },
                  ]
                : question,
          },
        ],
        output: { role: 'assistant', content: answer },
        ...(no % 3 === 0 && { comments: [{ content: 'Was late in the end.' }] }),
      },
    ]
  }
  const star = (no: number, of: object) => ({ id: `score-${no}`, name: 'helpful', ...of })
  const scores = [
    ...Array.from({ length: RUNS }, (_, i) =>
      star(i, { traceId: `parcel-desk-${i + 1}`, value: 0.9, dataType: 'NUMERIC' }),
    ),
    star(RUNS, { value: 0.1, dataType: 'NUMERIC' }),
  ]
  const records = [
    ...Array.from({ length: RUNS }, (_, i) => run(i + 1)).flat(),
    ...scores,
    { id: '' },
  ]
  return records.map((record) => JSON.stringify(record)).join('\n')
}

const RUNS = 9
