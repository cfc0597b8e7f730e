import { FORMAT_NAMES } from '../../../jobs/rules/import/detect.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { commandLine, hiddenProject } from '../parts.ts'

/**
 * Takes a file by drop or by choice, and says which files are understood.
 * @param project of the traces; undefined for the one that the key writes to
 */
export function importForm({
  isOpen,
  address,
  project,
}: {
  isOpen: boolean
  address: string
  project: string | undefined
}): Markup {
  return html`<section class="import" aria-label="Import a file">
    <form data-upload="/api/v1/import/jsonl" data-then="/console/imports/{id}">
      <label class="drop"
        ><b>Drop a file here, or choose one</b>
        <span class="quiet"
          >JSON Lines, JSON, CSV, Parquet, protobuf or tar, each also as gzip, up to 5 GiB. What the
          project has already is skipped.</span
        >
        <input type="file" name="file" required />
        <output></output>
      </label>
      <div class="filters">
        <label
          ><span class="visually-hidden">Format</span
          ><select name="source">
            <option value="">Format: found by itself</option>
            ${['backup', ...FORMAT_NAMES].map((name) => html`<option>${name}</option>`)}
          </select></label
        >
        <label
          ><span class="visually-hidden">Agent of records that name none</span
          ><input name="agent_name" maxlength="256" placeholder="Agent of records that name none"
        /></label>
        <label class="check"
          ><input type="checkbox" name="dry_run" value="true" /> Only try: store nothing</label
        >
        ${hiddenProject(project)}
        <button class="button primary">Import</button>
      </div>
      <progress max="1" value="0" hidden aria-label="Upload"></progress>
      <p role="alert" class="error"></p>
    </form>
    <details${isOpen && html` open`}>
      <summary>Which files are understood</summary>
      <dl class="formats">
        ${FORMATS.map(
          ([name, text]) =>
            html`<div>
              <dt><code>${name}</code></dt>
              <dd>${text}</dd>
            </div>`,
        )}
      </dl>
      ${commandLine(`curl ${address}/api/v1/import/jsonl \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/x-ndjson' --data-binary @traces.jsonl`)}
    </details>
  </section>`
}

const FORMATS: readonly (readonly [name: string, text: string])[] = [
  ['traces', 'One trace a line as POST /traces takes it, scores inline.'],
  ['openai_chat', 'Lines with messages and tools, and preference rows: two traces of one task.'],
  ['otlp', 'OpenTelemetry spans as JSON or protobuf: GenAI, OpenInference, Vercel AI attributes.'],
  ['langfuse', 'Trace downloads, batch and blob exports, CSV, API pages and ingestion events.'],
  ['langsmith', 'Runs and feedback: bulk exports, API pages, ingest bodies.'],
  ['phoenix', 'Spans and annotations of Phoenix and OpenInference.'],
  ['opik', 'Traces, spans and feedback scores.'],
  ['atif', 'Agent trajectories.'],
  ['tau_bench', 'Result files of trials.'],
  ['backup', 'A backup of this service, with everything that belongs to its traces.'],
]
