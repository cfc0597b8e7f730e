import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { loadHandlers } from './handlers.ts'
import { openService } from './service.ts'

/**
 * A service with all workers, and what a document of `ops/docs` shows, to be run against it.
 * @param reach the address that programs are told, for that of the service; the same unless given
 */
export async function openDocumented(
  t: Test,
  document: string,
  reach: (address: string) => string | Promise<string> = (address) => address,
) {
  const text = readFileSync(`ops/docs/${document}`, 'utf8')
  const service = await openService(t)
  await service.startWorkers(await loadHandlers())
  await service.server.start()
  const { key } = await service.makeOrganization()
  const { key: other } = await service.makeOrganization()
  // As in a checkout, where `npx node` finds its Node.js and the runner is.
  const folder = t.testdir()
  for (const name of ['node_modules', 'ops', 'package.json']) {
    symlinkSync(resolve(name), join(folder, name))
  }
  const env = {
    ...process.env,
    BASE: `${await reach(service.server.info.uri)}/api/v1`,
    KEY: key,
    OTHER: other,
    DATABASE_URL: service.url,
  }

  function run(program: string, args: readonly string[]) {
    return new Promise<string>((done, reject) => {
      execFile(program, args, { cwd: folder, env }, (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : done(stdout),
      )
    })
  }
  function codeOf(language: string) {
    const blocks = text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))
    return [...blocks].map(([, code]) => code as string)
  }
  return {
    client: service.client(key),
    folder,
    run,
    codeOf,
    /** What each block of shell commands prints, all run as one script. */
    async runShell() {
      const script = codeOf('bash').join(`\nprintf '\\n${CUT}\\n'\n`)
      const stdout = await run('bash', ['--norc', '-c', `set -euo pipefail\n${script}`])
      return stdout.split(`\n${CUT}\n`)
    },
  }
}

/** The objects that a block prints, one after the other. */
export function splitObjects(printed = ''): unknown[] {
  return printed
    .trim()
    .split(/(?<=\})\s*(?=\{)/)
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as unknown)
}

const CUT = '--- next block ---'
