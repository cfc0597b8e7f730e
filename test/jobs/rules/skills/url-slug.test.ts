import t from 'tap'
import { isUuid } from '../../../../jobs/rules/core/uuid.ts'
import { NAME_PATTERN } from '../../../../jobs/rules/skills/skill.ts'
import { urlSlugs } from '../../../../jobs/rules/skills/url-slug.ts'
import fc from '../../../support/property.ts'

const ID = '01a20080-6a47-7000-8000-4f1d2a9c3b5e'

t.test('the public names that a skill can get', (t) => {
  t.test('are those of its organization and its own, then with digits of its id', (t) => {
    t.same(urlSlugs({ id: ID, handle: 'acme', name: 'refunds' }), [
      'acme-refunds',
      'acme-refunds-9c3b5e',
      'acme-refunds-01a200806a47700080004f1d2a9c3b5e',
    ])
    t.end()
  })

  t.test('have at most 64 characters, and no hyphen at the end or two in a row', (t) => {
    const word = fc.stringMatching(/^[a-z0-9]{1,12}$/)
    const name = fc
      .array(word, { minLength: 1, maxLength: 12 })
      .map((words) => words.join('-').slice(0, 64).replace(/-$/, ''))
    fc.assert(
      fc.property(fc.uuid(), name, name, (id, handle, own) => {
        const slugs = urlSlugs({ id, handle: handle.slice(0, 24).replace(/-$/, ''), name: own })
        return slugs.every((slug) => slug.length <= 64 && NAME_PATTERN.test(slug))
      }),
    )
    t.end()
  })

  t.test('of two skills are never all the same', (t) => {
    const other = '01a20080-6a47-7000-8000-4f1d2a9c3b5f'
    const skill = { handle: 'a'.repeat(24), name: 'b'.repeat(64) }
    const own = urlSlugs({ ...skill, id: ID })
    t.not(urlSlugs({ ...skill, id: other }).at(-1), own.at(-1))
    t.end()
  })

  t.test('do not look like an id', (t) => {
    const slugs = urlSlugs({ id: ID, handle: '01a20080-6a47-7000-8000', name: '4f1d2a9c3b5e' })
    t.equal(slugs.length, 2)
    t.notOk(slugs.some((slug) => isUuid(slug)))
    t.end()
  })
  t.end()
})
