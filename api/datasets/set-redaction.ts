import { keep, patterns } from '../../jobs/rules/datasets/redaction-shapes.ts'
import { shape } from '../../jobs/shape.ts'
import { onlyRow } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { putRedactionSettings } from '../../sql/datasets/redaction-settings.ts'
import { endpoint } from '../endpoint.ts'
import { projectField, projectQuery } from '../fields.ts'
import { writableProject } from '../projects.ts'
import { redactionSettingsBody } from './redaction-settings.ts'

export const setRedaction = endpoint('PUT', '/redaction-settings', {
  summary: 'Set what a project has redacted besides the classes of values',
  description:
    'Takes the place of all settings. Versions built with `options.redact` use those that hold when they are asked for, and keep them: versions that exist stay as they are, and so does the recipe of a rebuild.',
  access: 'key',
  query: projectQuery,
  body: shape(
    {},
    {
      patterns: patterns
        .default([])
        .description(
          'Taken out by the class `custom`: patterns of RE2, none of which matches an empty text. Names tell them apart',
        ),
      keep: keep
        .default([])
        .description('Values that are left as they are, of any class; compared whole, in any case'),
      project: projectField,
    },
  )
    .label('RedactionSettingsRequest')
    .example({
      patterns: [{ name: 'ticket', pattern: 'TCK-[0-9]{6}' }],
      keep: ['support@example.com'],
    }),
  answers: { 200: redactionSettingsBody },
  handle: ({ context, principal, query, body }) =>
    context.sql.begin(async (tx: Transaction) => {
      const project = await writableProject(tx, principal, query.project)
      const { orgId, keyId } = principal
      return onlyRow(await putRedactionSettings(tx, orgId, project.id, body, keyId))
    }),
})
