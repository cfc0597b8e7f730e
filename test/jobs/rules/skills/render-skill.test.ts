import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { chooseFormat, hashText, renderSkill } from '../../../../jobs/rules/skills/render-skill.ts'
import type { RenderedSkill, Variant } from '../../../../jobs/rules/skills/render-skill.ts'
import { hasLongKey, publicFrontmatter } from '../../../../jobs/rules/skills/skill-frontmatter.ts'
import fc from '../../../support/property.ts'

const golden = new URL('../../../samples/skills/', import.meta.url)

const skill = (more: Partial<RenderedSkill> = {}): RenderedSkill => ({
  installName: 'pdf-forms',
  skillId: '01a20080-6a47-7000-8000-4f1d2a9c3b5e',
  registryName: 'acme/pdf-forms',
  owner: 'acme',
  version: 3,
  description: 'Fills in PDF forms',
  invocation: 'any',
  frontmatter: {},
  body: '# PDF forms\n\nRead the form first.',
  ...more,
})

/** By the name of the golden file. */
const cases: Readonly<Record<string, readonly [Variant, Partial<RenderedSkill>]>> = {
  'bare-own': ['own', {}],
  'bare-foreign': ['foreign', {}],
  'all-keys-own': ['own', { frontmatter: allKeys() }],
  'all-keys-foreign': ['foreign', { frontmatter: allKeys() }],
  'user-only': ['own', { invocation: 'user' }],
  'model-only': ['own', { invocation: 'model' }],
  'name-and-description-ignored': ['own', { frontmatter: { name: 'x', description: 'y' } }],
  'description-with-colon': ['own', { description: 'Use when: a form is to be filled in' }],
  'description-of-lines': ['own', { description: 'One line\nand another\tone' }],
  'description-quoted': ['own', { description: '"Quoted" \\ and #hashed' }],
  'description-reserved': ['own', { description: 'Null' }],
  'description-ends-in-space': ['own', { description: 'Before trimming ' }],
  'description-of-scripts': ['own', { description: 'Füllt Formulare aus: 表单 🙂' }],
  'description-of-odd-characters': [
    'own',
    { description: 'a\u0085b\u2028c\u2029d\ufeffe\u007ff\u009fg\uffffh' },
  ],
  'kept-name': ['foreign', { installName: 'My PDF: forms' }],
  'odd-keys': [
    'own',
    {
      frontmatter: {
        '': 1,
        'a b': 2,
        'x:y': 3,
        yes: 4,
        é: 5,
        '9lives': 6,
        '\u{1f600}': 7,
        '\uffee': 8,
      },
    },
  ],
  'metadata-of-values': [
    'own',
    {
      frontmatter: {
        metadata: { z: 'last', version: 3, on: true, 'a b': null, list: [1, { b: 'c' }] },
      },
    },
  ],
  'metadata-no-object': [
    'own',
    { frontmatter: { metadata: ['a'], license: 7, compatibility: null } },
  ],
  'author-claims-origin': [
    'foreign',
    { frontmatter: { metadata: { source: 'other/skill', version: '9', team: 'docs' } } },
  ],
  'body-of-carriage-returns': ['own', { body: 'One\r\ntwo\rthree\n---\nname: four\n---' }],
}

t.test('SKILL.md', async (t) => {
  for (const [name, [variant, more]] of Object.entries(cases)) {
    t.test(`is the golden file ${name} to the byte`, async (t) => {
      const bytes = readFileSync(new URL(`${name}.md`, golden))
      t.same(Buffer.from(renderSkill(skill(more), variant)), bytes)
      for (const version of ['1.1', '1.2'] as const) {
        const read: unknown = parse(splitFile(bytes.toString()).frontmatter, { version })
        t.same(read, meaningOf(skill(more), variant), `as YAML ${version} reads it`)
      }
    })
  }

  t.test('has a golden file for each case', async (t) => {
    t.same(
      readdirSync(golden).toSorted(),
      Object.keys(cases)
        .map((name) => `${name}.md`)
        .toSorted(),
    )
  })

  t.test('reads back to what was written', async (t) => {
    const text = fc.string({ unit: 'binary', maxLength: 60 })
    const frontmatter = fc.dictionary(text, fc.jsonValue({ stringUnit: 'binary' }), { maxKeys: 5 })
    fc.assert(
      fc.property(text, text, frontmatter, (description, installName, frontmatter) => {
        const given = skill({ description, installName, frontmatter: asStored(frontmatter) })
        const { frontmatter: written, body } = splitFile(renderSkill(given, 'own'))
        t.same(parse(written, { version: '1.2' }), meaningOf(given, 'own'))
        t.equal(body, `${given.body}\n`)
        t.notMatch(written, /[^\n\x20-\x7e\xa0-\uffff]|[\u2028\u2029\ufeff]/)
      }),
    )
  })

  t.test('reads back keys as long as they may be', (t) => {
    // The second is written with six characters for each.
    for (const key of ['k'.repeat(1022), '\u2028'.repeat(170)]) {
      t.notOk(hasLongKey({ [key]: 1 }))
      t.ok(hasLongKey({ x: [{ [`${key}kkk`]: 1 }] }))
      const { frontmatter } = splitFile(renderSkill(skill({ frontmatter: { [key]: 1 } }), 'own'))
      t.same((parse(frontmatter) as Record<string, unknown>)[key], 1)
    }
    t.end()
  })

  t.test('has a hash that tells apart names, versions and variants', async (t) => {
    const hashes = [
      renderSkill(skill(), 'own'),
      renderSkill(skill(), 'foreign'),
      renderSkill(skill({ version: 4 }), 'foreign'),
      renderSkill(skill({ installName: 'other' }), 'foreign'),
    ].map(hashText)
    t.equal(new Set(hashes).size, 4)
    t.match(hashes[0], /^[0-9a-f]{64}$/)
  })
})

t.test('the public part of a frontmatter', async (t) => {
  t.test('leaves out all keys that are not of the format', async (t) => {
    t.same(publicFrontmatter(allKeys()), {
      license: 'Apache-2.0',
      compatibility: 'Needs Python 3.12',
      'allowed-tools': ['Read', 'Bash(git *)'],
      metadata: { team: 'docs' },
    })
    t.same(publicFrontmatter({ license: { spdx: 'MIT' }, metadata: 'team' }), {})
  })

  t.test('is its own public part', async (t) => {
    const shown = publicFrontmatter(allKeys())
    t.same(publicFrontmatter(shown), shown)
  })
})

t.test('the format is the highest that both know', async (t) => {
  t.equal(chooseFormat([1]), 1)
  t.equal(chooseFormat([3, 1, 2]), 1)
  t.equal(chooseFormat([2, 3]), undefined)
  t.equal(chooseFormat([]), undefined)
})

function allKeys() {
  return {
    'trigger-phrases': ['fill in', 'form: pdf'],
    notes: 'Ask Ada before a release',
    license: 'Apache-2.0',
    'allowed-tools': ['Read', 'Bash(git *)'],
    metadata: { team: 'docs' },
    'disable-model-invocation': true,
    compatibility: 'Needs Python 3.12',
    model: 'large',
    category: null,
  }
}

/** What a reader of YAML must find, said without the words of the renderer. */
function meaningOf({ frontmatter, ...skill }: RenderedSkill, variant: Variant) {
  const shown = variant === 'own' ? frontmatter : publicFrontmatter(frontmatter)
  const { name: _, description: __, 'disable-model-invocation': ___, ...kept } = shown
  const { metadata } = kept
  const isObject = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
  const texts = Object.entries(isObject ? metadata : {}).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const origin = {
    source: skill.registryName,
    'skill-id': skill.skillId,
    version: `${skill.version}`,
    author: skill.owner,
  }
  const united = {
    ...(Object.fromEntries(texts) as Record<string, unknown>),
    ...(variant === 'foreign' && origin),
  }
  return {
    ...kept,
    name: skill.installName,
    description: skill.description,
    ...(skill.invocation === 'user' && { 'disable-model-invocation': true }),
    ...((isObject || variant === 'foreign') && { metadata: united }),
  }
}

function splitFile(text: string) {
  const [, frontmatter = '', body = ''] = /^---\n([^]*?)\n---\n\n([^]*)$/.exec(text) ?? []
  return { frontmatter, body }
}

/** JSON holds no negative zero. */
function asStored(frontmatter: Record<string, unknown>) {
  return JSON.parse(JSON.stringify(frontmatter)) as Record<string, unknown>
}
