/**
 * How records follow one another in a file.
 * - `lines`: one a line.
 * - `array`: elements of one JSON array.
 * - `envelope`: elements of the array `traces` of one JSON object.
 * - `values`: JSON values one after another, each over several lines, as pretty-printers write them.
 */
export const CONTAINERS = ['lines', 'array', 'envelope', 'values'] as const
export type Container = (typeof CONTAINERS)[number]
