import t from 'tap'
import { createHash } from 'node:crypto'
import { collide, foldPath } from '../../../../jobs/rules/skills/file-path.ts'
import { findCollision, planFiles } from '../../../../jobs/rules/skills/version-files.ts'
import type { VersionFile } from '../../../../jobs/rules/skills/version-files.ts'
import fc from '../../../support/property.ts'

const MIB = 1024 * 1024

t.test('files are put to those that are there', (t) => {
  t.test('replacing the ones of their paths; what is the same changes nothing', (t) => {
    const present = [file('a', 'x'), file('b', 'x')]
    const sent = [file('a', 'x'), file('b', 'y'), file('c', 'x')]
    t.same(planFiles(present, sent), { changed: sent.slice(1) })
    const executable = { ...file('a', 'x'), mode: '0755' as const }
    t.same(planFiles(present, [executable]), { changed: [executable] })
    const typed = { ...file('a', 'x'), content_type: 'text/markdown' }
    t.same(planFiles(present, [typed]), { changed: [typed] })
    t.end()
  })

  t.test('unless one collides with another', (t) => {
    const present = [file('docs/Guide.md', 'x'), file('run', 'x')]
    for (const [path, other] of [
      ['docs/guide.md', present[0]],
      ['docs', present[0]],
      ['run/it', present[1]],
    ] as const) {
      t.same(planFiles(present, [file('new', 'x'), file(path, 'x')]), {
        fault: { kind: 'collision', path, present: other },
      })
    }
    t.end()
  })

  t.test('up to 1 MiB a file, 200 files and 5 MiB together, and the limit is named', (t) => {
    const many = (count: number, bytes: number) =>
      Array.from({ length: count }, (_, i) => ({ ...file(`f${i}`, 'x'), size_bytes: bytes }))
    const faultOf = (present: VersionFile[], sent: VersionFile[]) => {
      const plan = planFiles(present, sent)
      return 'fault' in plan && plan.fault.kind === 'too_large' ? plan.fault.message : undefined
    }
    t.equal(faultOf([], many(1, MIB)), undefined)
    t.match(faultOf([], many(1, MIB + 1)), /f0 has more than 1048576 bytes/)
    t.equal(faultOf(many(199, 1), [file('x', 'x')]), undefined)
    t.match(faultOf(many(200, 1), [file('x', 'x')]), /more than 200 files/)
    t.equal(faultOf(many(200, 1), [file('f0', 'y')]), undefined, 'one is replaced')
    t.equal(faultOf([], many(5, MIB)), undefined)
    t.match(faultOf(many(5, MIB), [file('x', 'x')]), /5242880 bytes together/)
    t.equal(faultOf(many(5, MIB), [file('f0', 'y')]), undefined, 'a large one is replaced')
    t.end()
  })

  t.test('and whatever is put, no two files that are there then collide', (t) => {
    const path = fc
      .array(fc.constantFrom('a', 'A', 'ß', 'ss', 'b'), { minLength: 1, maxLength: 3 })
      .map((segments) => segments.join('/'))
    const files = fc
      .array(path, { maxLength: 6 })
      .map((paths) => paths.map((each) => file(each, 'x')))
    fc.assert(
      fc.property(files, files, (first, second) => {
        if (findCollision(first.map(({ path }) => path)) >= 0) return
        if (findCollision(second.map(({ path }) => path)) >= 0) return
        const plan = planFiles(first, second)
        if ('fault' in plan) return
        const paths = [...new Set([...first, ...second].map(({ path }) => path))].map(foldPath)
        for (const [i, one] of paths.entries()) {
          for (const other of paths.slice(0, i)) t.notOk(collide(one, other), `${one} ${other}`)
        }
      }),
      { numRuns: 1000 },
    )
    t.end()
  })

  t.end()
})

t.test('a collision among paths is found at the later one', (t) => {
  t.equal(findCollision(['a', 'b', 'A', 'B']), 2)
  t.equal(findCollision(['a', 'b', 'a']), 2)
  t.equal(findCollision(['a/b', 'a/c', 'a']), 2)
  t.equal(findCollision(['a', 'b']), -1)
  t.end()
})

function file(path: string, content: string): VersionFile {
  return {
    path,
    sha256: createHash('sha256').update(content).digest(),
    mode: '0644',
    size_bytes: content.length,
    content_type: 'text/plain',
  }
}
