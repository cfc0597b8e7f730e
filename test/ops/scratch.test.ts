import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openScratch, sweepScratch } from '../../ops/scratch.ts'

const log = { info: () => undefined, warn: () => undefined }

t.test('scratch files', async (t) => {
  t.test('are in a folder of their process, which goes with it', async (t) => {
    const folder = join(await makeFolder(t), 'scratch')
    const scratch = await openScratch(folder, log)
    await t.rejects(readdir(folder), { code: 'ENOENT' }, 'and which is made when it is needed')
    const made = await scratch.makeFolder()
    await writeFile(join(made, 'file'), 'x')
    t.not(await scratch.makeFolder(), made)
    await scratch.close()
    t.same(await readdir(folder), [])
  })

  t.test('of a killed process are swept, and those of a live one never', async (t) => {
    const folder = await makeFolder(t)
    const scratch = await openScratch(folder, log)
    t.teardown(scratch.close)
    await scratch.makeFolder()
    const [mine] = await readdir(folder)
    const child = spawn(process.execPath, [PROGRAM, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    const old = new Date(Date.now() + 3_600_000)
    t.same(await sweepScratch(folder, old), [])
    child.kill('SIGKILL')
    await once(child, 'exit')
    t.same(await sweepScratch(folder, new Date()), [], 'it could be one that begins')
    t.equal((await sweepScratch(folder, old)).length, 1)
    t.same(await readdir(folder), [mine])
  })

  t.test(
    'of a release that took no locks are swept after a day, others of no matter',
    async (t) => {
      const folder = await makeFolder(t)
      await mkdir(join(folder, 'dataset-a1b2c3'))
      await mkdir(join(folder, 'something-else'))
      const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000)
      t.same(await sweepScratch(folder, inHours(23)), [])
      t.same(await sweepScratch(folder, inHours(25)), ['dataset-a1b2c3'])
    },
  )
})

async function makeFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'adl-scratch-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Makes a scratch folder, says so, and stays. */
const PROGRAM = new URL('scratch-process.ts', import.meta.url).pathname
