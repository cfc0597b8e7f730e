import { SENSITIVE_CLASSES } from '../../../jobs/rules/core/sensitive.ts'
import type { SensitiveClass } from '../../../jobs/rules/core/sensitive.ts'
import { completeRedact } from '../../../jobs/rules/datasets/redaction.ts'
import { showRedaction } from '../../datasets/show-redaction.ts'
import { listProjects } from '../../org/list-projects.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, choice } from '../parts.ts'
import { organizationTabs } from './organization-tabs.ts'
import { fitsForm, redactionForm, redactionLists } from './redaction-settings.ts'

const PATH = '/console/organization/redaction'

export const showRedactionPage = page('/organization/redaction', {
  area: 'organization',
  async show({ ask, query: { project }, now, mayWrite }) {
    const [settings, { projects }] = await Promise.all([
      ask(showRedaction, { query: { project } }),
      ask(listProjects, { query: { limit: 100 } }),
    ])
    const names = projects.map(({ name }) => name)
    return {
      title: 'Organization',
      body: html`${organizationTabs('Redaction')}
        ${
          names.length > 1 &&
          html`<form class="filters" action="${PATH}">
            ${choice('project', 'Project', names, project)}
            <noscript><button class="button">Show</button></noscript>
          </form>`
        }
        <p class="held">
          ${settings.updated_at ? html`Set ${ago(settings.updated_at, now)}.` : 'Never set: the classes alone are taken out.'}
          Versions of datasets keep the settings that they were built with.
        </p>
        <div class="columns">
          ${mayWrite && fitsForm(settings) ? redactionForm(settings, project) : redactionLists(settings, mayWrite)}
          ${classes()}
        </div>`,
    }
  },
})

/** What is found without any setting. */
function classes(): Markup {
  const usual = new Set<string>(completeRedact(['default']))
  return html`<section class="card policy" aria-labelledby="classes">
    <h2 id="classes">Found without any setting</h2>
    <p class="quiet">
      Rows that are built with redaction have values of these classes replaced by placeholders such
      as <code>[EMAIL_1]</code>, each value by the same one throughout a row.
    </p>
    <dl class="classes">
      ${SENSITIVE_CLASSES.map(
        (name) =>
          html`<div>
            <dt><code>${name}</code></dt>
            <dd>
              ${WORDS[name]}
              ${!usual.has(name) && html`<span class="tag">only where it is named</span>`}
            </dd>
          </div>`,
      )}
    </dl>
    <p class="quiet">
      <code>default</code> in <code>options.redact</code> of a build names them, and
      <code>custom</code> the patterns of the project.
    </p>
  </section>`
}

const WORDS: Readonly<Record<SensitiveClass, string>> = {
  private_key: 'private keys',
  jwt: 'JSON web tokens',
  api_key: 'API keys of known services',
  bearer: 'bearer tokens',
  secret: 'passwords and other values that are named secret',
  email: 'email addresses',
  iban: 'bank accounts',
  card: 'payment cards',
  ssn_us: 'US social security numbers',
  ip: 'IP addresses',
  phone: 'telephone numbers',
}
