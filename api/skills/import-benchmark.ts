import Joi from 'joi'
import { BENCHMARK_VERDICTS } from '../../jobs/rules/skills/benchmark-run.ts'
import { listOf } from '../../jobs/shape.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { benchmarkBody, recordRun, viewBenchmark } from './benchmark.ts'
import { benchmarkDocument } from './benchmark-document.ts'
import { skillPath } from './skill.ts'

const importedBody = Joi.object({
  imported_cases: Joi.number().integer().required(),
  total_cases: Joi.number().integer().required().description('Of the document'),
  overall_verdict: Joi.string()
    .valid(...BENCHMARK_VERDICTS)
    .required(),
  skipped_cases: listOf(Joi.string())
    .required()
    .description('Names of cases that cannot be read, or that came before; #n for one without'),
  benchmark: benchmarkBody.required(),
}).label('ImportedBenchmark')

export const importBenchmark = endpoint('POST', '/skills/{skill_name}/benchmark/import', {
  summary: 'Import the results of a runner of benchmarks',
  description:
    'Takes the results of the open-source runner skillevaluation as it writes them, and the request that POST .../benchmarks takes. A case that cannot be read costs only itself. The same run again is 200 where `run_at` or `completed_at` tells when it ran.',
  access: 'key',
  params: skillPath,
  body: benchmarkDocument,
  answers: { 200: importedBody, 201: importedBody, 404: errorBody },
  async handle({ context, principal, params, body }) {
    const { run, skipped } = body
    const { benchmark, isNew } = await recordRun(context, principal, params.skill_name, run)
    const view = viewBenchmark(benchmark)
    return new Answer(isNew ? 201 : 200, {
      imported_cases: run.cases.length,
      total_cases: run.cases.length + skipped.length,
      overall_verdict: view.verdict,
      skipped_cases: skipped,
      benchmark: view,
    })
  },
})
