import t from 'tap'
import {
  disambiguate,
  FOLDER_NAME,
  openInstallNames,
} from '../../../../jobs/rules/skills/install-name.ts'
import type { NamedSkill, TakenNames } from '../../../../jobs/rules/skills/install-name.ts'
import { isSkillName } from '../../../../jobs/rules/skills/skill.ts'
import fc from '../../../support/property.ts'

const idOf = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
const skill = (number: number, name = 'pdf', owner = 'acme') => ({ id: idOf(number), name, owner })
const nameAll = (taken: TakenNames, skills: readonly NamedSkill[]) => {
  const names = openInstallNames(taken)
  return skills.map((skill) => names.choose(skill))
}

t.test('the folder of a skill', async (t) => {
  t.test('is its name, then that of its owner and it, then one with a hash', async (t) => {
    t.same(nameAll({}, [skill(1), skill(2), skill(3), skill(4, 'pdf', 'zoo')]), [
      'pdf',
      'acme-pdf',
      'acme-pdf-18a52a',
      'zoo-pdf',
    ])
  })

  t.test('with a hash does not depend on how many others have the name', async (t) => {
    const [, , third] = nameAll({}, [skill(1), skill(2), skill(3)])
    t.equal(nameAll({}, [skill(5), skill(6), skill(7), skill(3)])[3], third)
  })

  t.test('stays as it is: of several the one of its name, else the first by bytes', async (t) => {
    t.same(nameAll({ mine: idOf(1) }, [skill(1)]), ['mine'])
    t.same(nameAll({ a: idOf(1), pdf: idOf(1) }, [skill(1)]), ['pdf'])
    t.same(nameAll({ b: idOf(1), a: idOf(1), '\uffee': idOf(1) }, [skill(1)]), ['a'])
    const id = '0000000A-0000-7000-8000-00000000000B'
    t.same(nameAll({ mine: id }, [{ ...skill(1), id: id.toLowerCase() }]), ['mine'])
  })

  t.test('is the same when the skill comes again', async (t) => {
    t.same(nameAll({}, [skill(1), skill(2), skill(1)]), ['pdf', 'acme-pdf', 'pdf'])
  })

  t.test('is none that another has, nor one that only case or width tell from it', async (t) => {
    t.same(nameAll({ pdf: null }, [skill(1)]), ['acme-pdf'])
    t.same(nameAll({ PDF: idOf(2) }, [skill(1)]), ['acme-pdf'])
    t.same(nameAll({ ｐｄｆ: null, 'Acme-PDF': null }, [skill(1)]), ['acme-pdf-22f89e'])
  })

  t.test('is no device of Windows and no member that every object has', async (t) => {
    t.same(nameAll({}, [skill(1, 'con'), skill(2, 'lpt9'), skill(3, 'com0')]), [
      'acme-con',
      'acme-lpt9',
      'acme-com0',
    ])
    t.same(nameAll({}, [skill(1, 'constructor')]), ['constructor'])
  })

  t.test('is not kept where it is no folder', async (t) => {
    for (const folder of ['..', '.', '.pdf', 'a/b', 'a\\b', 'a\0b', '']) {
      const names = openInstallNames({ [folder]: idOf(1) })
      t.equal(names.choose(skill(1)), 'pdf')
      t.ok(names.isMisplaced(idOf(1)))
      t.notOk(names.isMisplaced(idOf(2)))
    }
  })

  t.test('is missing when all names are taken', async (t) => {
    const names: Record<string, null> = {}
    for (;;) {
      const [name] = nameAll(names, [skill(1)])
      if (name === undefined) break
      t.ok(isSkillName(name), name)
      names[name] = null
    }
    t.equal(Object.keys(names).length, 17)
  })
})

t.test('the name with the owner in front', async (t) => {
  t.test('has 24 characters of the owner and 64 in all', async (t) => {
    const [owner, name] = [`${'o'.repeat(23)}-tail`, 'n'.repeat(64)]
    t.equal(disambiguate({ owner, name: 'x' }), `${'o'.repeat(23)}-x`)
    t.equal(disambiguate({ owner: 'a', name }), `a-${'n'.repeat(62)}`)
    t.equal(disambiguate({ owner: 'a', name: `${'n'.repeat(61)}-n` }), `a-${'n'.repeat(61)}`)
  })
})

t.test('the folders of a project, over 50,000 requests', async () => {
  const word = fc.constantFrom('pdf', 'acme', 'con', 'acme-pdf', 'a', 'constructor', 'n'.repeat(64))
  const folder = fc.oneof(
    word,
    word.map((name) => name.toUpperCase()),
    fc.constantFrom('zoo-pdf', 'ｐｄｆ', '..', '.x', 'a/b', '__proto__', 'My PDF'),
  )
  const number = fc.integer({ min: 1, max: 8 })
  // An id has one name and one owner.
  const skillsById = fc.array(fc.tuple(word, fc.constantFrom('acme', 'zoo', 'o'.repeat(29))), {
    minLength: 8,
    maxLength: 8,
  })
  const takenNames = fc.uniqueArray(fc.tuple(folder, fc.option(number)), {
    maxLength: 6,
    selector: ([folder]) => folder.normalize('NFKC').toLowerCase(),
  })
  const fold = (name: string) => name.normalize('NFKC').toLowerCase()

  fc.assert(
    fc.property(
      skillsById,
      takenNames,
      fc.array(number, { maxLength: 8 }),
      (named, takenPairs, order) => {
        const taken = Object.fromEntries(
          takenPairs.map(([folder, number]) => [folder, number === null ? null : idOf(number)]),
        )
        const skills = order.map((number) => skill(number, ...(named[number - 1] ?? [])))
        const names = nameAll(taken, skills)
        // The same again, and whatever comes after.
        const shorter = nameAll(taken, skills.slice(0, -1))
        if (shorter.some((name, index) => name !== names[index])) return false
        const holders = new Map<string, string>()
        return names.every((name, index) => {
          const id = skills[index]?.id ?? ''
          if (name === undefined || !FOLDER_NAME.test(name)) return false
          const holds = takenPairs.filter(
            ([folder, number]) =>
              number !== null && idOf(number) === id && FOLDER_NAME.test(folder),
          )
          const isKept = holds.some(([folder]) => folder === name)
          if (isKept !== holds.length > 0) return false
          if (names[skills.findIndex((skill) => skill.id === id)] !== name) return false
          // Nobody else has it, neither before nor in this request.
          const others = takenPairs.filter(([folder]) => fold(folder) === fold(name))
          if (!isKept && (others.length > 0 || !isSkillName(name))) return false
          const holder = holders.get(fold(name)) ?? id
          holders.set(fold(name), id)
          return holder === id
        })
      },
    ),
    { numRuns: 50_000 },
  )
})
