/**
 * How records follow one another in a file of JSON text.
 * - `lines`: one a line.
 * - `array`: elements of one JSON array.
 * - `envelope`: elements of lists in one JSON object, such as `traces`; several may follow one another.
 * - `values`: JSON values one after another, each over several lines, as pretty-printers write them.
 */
const TEXT_CONTAINERS = ['lines', 'array', 'envelope', 'values'] as const
export type TextContainer = (typeof TEXT_CONTAINERS)[number]

/** The lists of an envelope that hold its records. */
export const RECORD_LISTS: readonly string[] = [
  'traces',
  'runs',
  'data',
  'batch',
  'spans',
  'resourceSpans',
  'resource_spans',
]

/**
 * Files that are no JSON text, of which JSON records are made while they are read. That begins at their
 * start each time: an offset in them counts what was made, and not their bytes.
 * - `csv`: a header, then one record a row.
 * - `parquet`: one record a row.
 * - `protobuf`: one ExportTraceServiceRequest of OpenTelemetry.
 * - `multipart`: a body of multipart/form-data, as LangSmith's clients send runs.
 * - `tar`: files, each of them in a container of its own.
 */
const CONVERTED_CONTAINERS = ['csv', 'parquet', 'protobuf', 'multipart', 'tar'] as const
export type ConvertedContainer = (typeof CONVERTED_CONTAINERS)[number]

export const CONTAINERS = [...TEXT_CONTAINERS, ...CONVERTED_CONTAINERS] as const
export type Container = (typeof CONTAINERS)[number]

export function isConverted(container: Container): container is ConvertedContainer {
  return (CONVERTED_CONTAINERS as readonly string[]).includes(container)
}
