import type { Test } from 'tap'
import { openImports } from '../imports.ts'
import type { Service } from '../service.ts'

/** Restores files that tests make, and shows what became of them with all errors. */
export function openRestores(t: Test, service: Service) {
  const { submit } = openImports(t, service)
  return async (file: string | Buffer, org?: Parameters<typeof submit>[2]) => {
    const submitted = await submit(file, '?source=backup', org)
    const shown = await submitted.ended()
    const { body } = await submitted.get(`/import/${submitted.importId}/errors?limit=1000`)
    const errors = body.errors as { line: number; code: string; message: string }[]
    return { ...submitted, shown, errors, told: errors.map(({ line, code }) => [line, code]) }
  }
}
