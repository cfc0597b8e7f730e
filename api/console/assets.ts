import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import type { Server } from '@hapi/hapi'
import { notFound } from '../errors.ts'
import { answerFile, staticFile } from '../static-file.ts'
import type { StaticFile } from '../static-file.ts'

const HERE = import.meta.dirname
const { resolve } = createRequire(import.meta.url)
const FONTS = {
  'text.woff2': resolve('@fontsource-variable/geist/files/geist-latin-wght-normal.woff2'),
  'code.woff2': resolve('@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2'),
}
const HEADERS = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'X-Content-Type-Options': 'nosniff',
}

/** Everything that pages load: modules, one style sheet, two fonts, an icon. Read once a process. */
const files = readFiles()
/** Changes with any of them, so that browsers may keep each for good. */
const release = createHash('sha256')
  .update([...files.values()].map(({ hash }) => hash).join())
  .digest('hex')
  .slice(0, 12)

/** The address of a file, by its name in `browser/`, `styles/` or here. */
export function assetPath(name: string): string {
  if (!files.has(name)) throw new Error(`The console has no file ${name}`)
  return `/console/assets/${release}/${name}`
}

/** Serves the files to everybody, outside every rate limit. */
export function serveAssets(server: Server) {
  server.route({
    method: 'GET',
    path: '/console/assets/{release}/{name}',
    options: { auth: false, app: { access: 'open' } },
    handler: (request, h) => {
      const file = files.get(request.params['name'] as string)
      if (!file || request.params['release'] !== release) throw notFound('File')
      return answerFile(file, request, h)
    },
  })
}

function readFiles() {
  const found = new Map<string, StaticFile>()
  const add = (name: string, type: string, bytes: Buffer) =>
    found.set(name, staticFile(type, bytes, HEADERS))
  for (const name of listFiles('browser', '.ts')) {
    const script = stripTypes(readFileSync(join(HERE, 'browser', name), 'utf8'))
    add(name, 'text/javascript', Buffer.from(script))
  }
  const styles = listFiles('styles', '.css').map((name) => readFileSync(join(HERE, 'styles', name)))
  add('console.css', 'text/css', Buffer.concat(styles))
  add('icon.svg', 'image/svg+xml', readFileSync(join(HERE, 'icon.svg')))
  for (const [name, path] of Object.entries(FONTS)) add(name, 'font/woff2', readFileSync(path))
  return found
}

/** Sorted by name, which is the order of the style sheets in the one that is sent. */
function listFiles(folder: string, ending: string) {
  return readdirSync(join(HERE, folder))
    .filter((name) => name.endsWith(ending))
    .sort()
}

/** Without the warning that this is experimental: the process that runs this was read in the same way. */
function stripTypes(source: string) {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
