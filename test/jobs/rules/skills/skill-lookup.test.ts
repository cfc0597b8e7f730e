import t from 'tap'
import { chooseSkill, lookupsOf } from '../../../../jobs/rules/skills/skill-lookup.ts'
import type { Scope } from '../../../../jobs/rules/skills/skill-lookup.ts'

const ID = '01a20080-6a47-7000-8000-4f1d2a9c3b5e'
const skill = (scope: Scope, registry_name: string) => ({ scope, registry_name })

t.test('a reference is looked up', async (t) => {
  t.test('by id alone where it is one', async (t) => {
    t.same(lookupsOf(ID.toUpperCase(), { [ID]: ID }), [{ id: ID }])
  })

  t.test(
    'by name in any case and width, then by the folder that it names to the letter',
    async (t) => {
      t.same(lookupsOf('Acme/ＰＤＦ', {}), [{ name: 'acme/pdf' }])
      t.same(lookupsOf('pdf', { pdf: ID.toUpperCase() }), [{ name: 'pdf' }, { id: ID }])
      t.same(lookupsOf('PDF', { pdf: ID }), [{ name: 'pdf' }])
      t.same(lookupsOf('pdf', { pdf: null }), [{ name: 'pdf' }])
      t.same(lookupsOf('constructor', {}), [{ name: 'constructor' }])
    },
  )
})

t.test('the skill that is meant', async (t) => {
  const own = skill('own', 'acme/pdf')
  const used = skill('used', 'zoo/pdf')
  const others = ['g', 'b', 'f', 'e', 'd', 'c'].map((owner) => skill('public', `${owner}/pdf`))
  const [first] = others

  t.test('is the only one of the first scope that has any', async (t) => {
    t.same(chooseSkill([[...others, used, own]]), { chosen: own, isShadowing: true })
    t.same(chooseSkill([[...others, used]]), { chosen: used, isShadowing: true })
    t.same(chooseSkill([[own]]), { chosen: own, isShadowing: false })
  })

  t.test('is that of the first lookup which has any', async (t) => {
    t.same(chooseSkill([[], [own]]), { chosen: own, isShadowing: false })
    t.same(chooseSkill([others.slice(0, 1), [own]]), { chosen: first, isShadowing: false })
  })

  t.test('is not guessed: at most five that answer are named', async (t) => {
    t.same(chooseSkill([others]), {
      error: 'ambiguous_ref',
      names: ['b/pdf', 'c/pdf', 'd/pdf', 'e/pdf', 'f/pdf'],
    })
    t.same(chooseSkill([others.slice(0, 2), [own]]), {
      error: 'ambiguous_ref',
      names: ['b/pdf', 'g/pdf'],
    })
    t.same(chooseSkill([]), { error: 'not_found' })
    t.same(chooseSkill([[], []]), { error: 'not_found' })
  })
})
