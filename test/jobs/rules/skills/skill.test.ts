import t from 'tap'
import { forkNames } from '../../../../jobs/rules/skills/fork-name.ts'
import { installState } from '../../../../jobs/rules/skills/install-state.ts'
import { promptFragment } from '../../../../jobs/rules/skills/prompt-fragment.ts'
import {
  describeBody,
  faultOfBody,
  isSkillName,
  MAX_BODY_BYTES,
} from '../../../../jobs/rules/skills/skill.ts'
import fc from '../../../support/property.ts'

t.test('a skill', async (t) => {
  t.test('has a name of words and single hyphens that is no id', async (t) => {
    for (const name of ['a', '0', 'a-b', 'a1-2b', 'x'.repeat(64)]) t.ok(isSkillName(name), name)
    const refused = ['', '-', 'a-', '-a', 'a--b', 'A', 'é', 'a b', 'a_b', 'a\n', 'x'.repeat(65)]
    for (const name of refused) t.notOk(isSkillName(name), JSON.stringify(name))
    t.notOk(isSkillName('01a20080-6a47-7000-8000-4f1d2a9c3b5e'))
  })

  t.test('has a body of bounded bytes that does not begin with frontmatter', async (t) => {
    for (const body of ['---', '---\n', '---\r\nname: x', '--- \t\n']) {
      t.equal(faultOfBody(body), 'frontmatter_in_body', JSON.stringify(body))
    }
    for (const body of ['', '--', '----', '--- x', 'a\n---\n', '- - -']) {
      t.equal(faultOfBody(body), undefined, JSON.stringify(body))
    }
    t.equal(faultOfBody('é'.repeat(MAX_BODY_BYTES / 2)), undefined)
    t.equal(faultOfBody('é'.repeat(MAX_BODY_BYTES / 2 + 1)), 'too_large')
  })

  t.test('that nobody described says the first line that is no heading', async (t) => {
    t.equal(describeBody('# A\r\n\r\n ## B\r\nFirst.\nSecond.', 'n'), 'First.')
    t.equal(describeBody('# A\n\n', 'n'), 'n')
    t.equal(describeBody('', 'n'), 'n')
    t.equal(describeBody('x'.repeat(300), 'n').length, 200)
    t.equal(describeBody(`${'x'.repeat(199)}😀`, 'n'), 'x'.repeat(199), 'no half a character')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (body) => {
        const { length } = describeBody(body, 'n')
        return length >= 1 && length <= 200
      }),
    )
  })

  t.test('gets copies with names of their own', async () => {
    const names = fc.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)*$/).filter(isSkillName)
    fc.assert(
      fc.property(names, (name) => {
        const all = forkNames(name)
        return all[0] === name && all.every(isSkillName) && new Set(all).size === all.length
      }),
    )
  })

  t.test('is offered on one line, whatever its description', async (t) => {
    t.equal(promptFragment([]), '')
    const text = promptFragment([
      { name: 'a', description: 'Does\r\n\u2028 - b: x ' },
      { name: 'c', description: 'Else' },
    ])
    t.same(text.split(/[\n\r\u2028]/).slice(1), ['- a: Does - b: x', '- c: Else'])
  })

  t.test('stands to the copy of an installation by what that held last', async (t) => {
    t.equal(installState(null, null, 3), 'local_only')
    t.equal(installState(3, 3, null), 'in_sync')
    t.equal(installState(3, 2, 3), 'remote_ahead')
    t.equal(installState(3, null, 3), 'local_ahead')
    t.equal(installState(3, null, 2), 'conflict')
    t.equal(installState(3, null, null), 'unknown')
  })
})
