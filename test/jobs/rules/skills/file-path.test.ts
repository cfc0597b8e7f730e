import t from 'tap'
import { collide, faultOfPath, foldPath } from '../../../../jobs/rules/skills/file-path.ts'
import fc from '../../../support/property.ts'

t.test('the path of a file', (t) => {
  t.test('is below the folder of the skill', (t) => {
    const good = [
      'a',
      'scripts/run.sh',
      'Ünïcode/日本.md',
      'a b/c',
      'x/skill.md',
      'console/nulls.md',
    ]
    for (const path of good) t.equal(faultOfPath(path), undefined, path)
    t.end()
  })

  for (const [why, paths] of Object.entries({
    'it leads out of the folder': ['..', '../a', 'a/../b', '/etc/passwd', 'a/..', './a', 'a/./b'],
    'some file systems read it as leading out': ['．．/a', '‥/a', 'a／../b', '．/a', '․․/a'],
    'it is of Windows': [
      'a\\..\\b',
      'C:/a',
      'a:stream',
      'con',
      'x/NUL.txt',
      'a/Com1',
      'a.',
      'a /b',
    ],
    'a segment is empty or hidden': ['', '/', 'a//b', 'a/', '.git/config', 'a/.env', ' a'],
    'it holds what cannot be seen': ['a\0b', 'a\nb', 'a\u202eb', 'a\u200bb', 'a\u2028b', 'a\ud800'],
    'it is that of the rendered file': ['SKILL.md', 'skill.MD', 'ＳＫＩＬＬ．ｍｄ', 'ſkill.md'],
    'it is too long': ['a'.repeat(256), 'é'.repeat(128), '\ufdfa'.repeat(30)],
  })) {
    t.test(`is refused where ${why}`, (t) => {
      for (const [i, path] of paths.entries()) t.type(faultOfPath(path), 'string', `${i}`)
      t.end()
    })
  }

  t.test('takes 255 bytes', (t) => {
    t.equal(faultOfPath('a'.repeat(255)), undefined)
    t.end()
  })

  t.test('collides with what a file system may take for it, and with its own folder', (t) => {
    const pairs = [
      ['a.md', 'A.md'],
      ['straße', 'STRASSE'],
      ['STRAẞE', 'straße'],
      ['STRAẞE', 'strasse'],
      ['ὀδυσσεύς', 'ΟΔΥΣΣΕΎΣ'.replace('Ο', 'Ὀ')],
      ['é', 'e\u0301'],
      ['ﬁle', 'file'],
      ['a', 'a/b'],
      ['A/b/c', 'a/B'],
    ] as const
    for (const [a, b] of pairs) {
      t.ok(collide(foldPath(a), foldPath(b)), `${a} and ${b}`)
      t.ok(collide(foldPath(b), foldPath(a)), `${b} and ${a}`)
    }
    t.notOk(collide(foldPath('a/b'), foldPath('a/c')))
    t.notOk(collide(foldPath('ab'), foldPath('a')))
    t.end()
  })

  t.test('stays in its folder whatever else it is', (t) => {
    const piece = fc.constantFrom(
      '.',
      '..',
      '/',
      '\\',
      'a',
      ' ',
      '．',
      '／',
      '\0',
      'con',
      ':',
      '\u0301',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const path = pieces.join('')
        if (faultOfPath(path) !== undefined) return
        for (const form of [path, path.normalize('NFKC'), path.normalize('NFD')]) {
          const { pathname } = new URL(form, 'file:///skill/')
          t.ok(pathname.startsWith('/skill/') && pathname.length > '/skill/'.length)
          t.notMatch(form, /(^|\/)\./)
        }
      }),
      { numRuns: 2000 },
    )
    t.end()
  })

  t.end()
})
