import t from 'tap'
import {
  isWithheld,
  ITEM_ERRORS,
  itemError,
  NOTES,
  notesOf,
  pinOf,
  readVersion,
  relationshipOf,
} from '../../../../jobs/rules/skills/resolution.ts'

const plain = {
  scope: 'public',
  band: 'passed',
  stability: 'stable',
  isPinned: false,
  hasRivalPins: false,
  hasNewer: false,
  isNameKept: false,
  isMisplaced: false,
  isShadowing: false,
} as const

t.test('policy notes', async (t) => {
  t.test('are these sentences, which begin with a word for programs', async (t) => {
    t.same(Object.values(NOTES), [
      'pinned: agents of your organization are held to this version',
      'pinned: agents differ',
      'deprecated: its author advises against using this skill',
      'blocked: the safety scan blocks this version, so no other organization is served it',
      'unreviewed: the safety of this version was not looked at yet',
      'newer_withheld: a newer version is withheld for its safety',
      'name_kept: the skill stays in the folder in which the project has it',
      'name_unsafe: the folder given for the skill is no safe name of a folder and is not used',
      'ref_shadowed: public skills answer to this reference too; owner/name tells them apart',
    ])
  })

  t.test('are none where there is nothing to know', async (t) => {
    t.same(notesOf(plain), [])
    t.same(notesOf({ ...plain, band: 'caution', stability: 'experimental' }), [])
  })

  t.test('say each what is so', async (t) => {
    const facts = [
      [{ isPinned: true }, NOTES.pinned],
      [{ hasRivalPins: true }, NOTES.rivalPins],
      [{ stability: 'deprecated' }, NOTES.deprecated],
      [{ scope: 'own', band: 'blocked' }, NOTES.blocked],
      [{ band: 'unreviewed' }, NOTES.unreviewed],
      [{ hasNewer: true }, NOTES.newerWithheld],
      [{ isNameKept: true }, NOTES.nameKept],
      [{ isMisplaced: true }, NOTES.misplaced],
      [{ isShadowing: true }, NOTES.refShadowed],
    ] as const
    for (const [fact, note] of facts) t.same(notesOf({ ...plain, ...fact }), [note])
    t.equal(new Set(facts.map(([, note]) => note)).size, Object.keys(NOTES).length)
  })
})

t.test('an item asks for', async (t) => {
  t.same(readVersion(undefined), { isOpen: true })
  t.same(readVersion('latest'), { isOpen: false })
  t.same(readVersion(7), { isOpen: false, version: 7 })
  t.same(readVersion('7'), { isOpen: false, version: 7 })
  for (const odd of ['', '0', '07', '-1', '1.5', 'Latest', '1e3', '9'.repeat(10)]) {
    t.equal(readVersion(odd), undefined, odd)
  }
})

t.test('assignments hold a skill to the one version that all of them name', async (t) => {
  t.equal(pinOf([]), undefined)
  t.equal(pinOf([null]), undefined)
  t.equal(pinOf(['a']), 'a')
  t.equal(pinOf(['a', 'b']), undefined)
  t.equal(pinOf(['a', null]), undefined)
})

t.test('what is blocked or held is withheld from all but its owner', async (t) => {
  const bands = ['passed', 'caution', 'unreviewed', 'blocked'] as const
  for (const band of bands) {
    t.equal(isWithheld({ scope: 'own', band, isHeld: false }), false)
    t.equal(isWithheld({ scope: 'used', band, isHeld: false }), band === 'blocked')
    t.equal(isWithheld({ scope: 'public', band, isHeld: true }), true)
  }
})

t.test('a skill is owned, forked, used or public', async (t) => {
  t.equal(relationshipOf({ scope: 'own', is_fork: false }), 'owned')
  t.equal(relationshipOf({ scope: 'own', is_fork: true }), 'forked')
  t.equal(relationshipOf({ scope: 'used', is_fork: false }), 'used')
  t.equal(relationshipOf({ scope: 'public', is_fork: false }), 'public')
})

t.test('each error has a sentence that names the reference', async (t) => {
  const errors = ITEM_ERRORS.map((code) => itemError(code, 'acme/pdf', ['a/pdf', 'b/pdf']))
  for (const { code, message } of errors) t.match(message, 'acme/pdf', code)
  t.equal(new Set(errors.map(({ message }) => message)).size, ITEM_ERRORS.length)
  t.match(itemError('ambiguous_ref', 'pdf', ['a/pdf', 'b/pdf']).message, 'a/pdf, b/pdf')
})
