import { runArea } from '../support/area.ts'

await runArea(import.meta.filename)
