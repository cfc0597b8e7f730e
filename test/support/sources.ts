import { globSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

export interface Source {
  /** Without comments. */
  readonly text: string
  /** Paths of the files it imports, from the top. */
  readonly local: readonly string[]
  /** Those of them that are loaded with it: not for their types alone, nor only when a function asks. */
  readonly loaded: readonly string[]
  readonly packages: readonly string[]
}

/** By path from the top. */
export type Sources = ReadonlyMap<string, Source>

/** What is on disk under a folder, as paths from the top. */
export interface Tree {
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

/** Every TypeScript file of ours but those left out. */
export function readSources(exclude: readonly string[]): Sources {
  const pattern = '{api,workers,jobs,sql,ops,test}/**/*.ts'
  const paths = globSync(pattern, { exclude: ['**/node_modules/**', ...exclude] })
  return new Map(paths.map((path) => [path, parse(path, readFileSync(path, 'utf8'))]))
}

/** Texts by path, as if they were files. */
export function plant(sources: Record<string, string>): Sources {
  return new Map(Object.entries(sources).map(([path, text]) => [path, parse(path, text)]))
}

export function readTree(roots: readonly string[]): Tree {
  const entries = roots
    .flatMap((root) => readdirSync(root, { recursive: true, withFileTypes: true }))
    .filter(({ parentPath, name }) => !posix.join(parentPath, name).includes('node_modules'))
  const pathsOf = (found: typeof entries) =>
    found.map(({ parentPath, name }) => posix.join(parentPath, name))
  return {
    folders: pathsOf(entries.filter((entry) => entry.isDirectory())),
    files: pathsOf(entries.filter((entry) => entry.isFile())),
  }
}

function parse(path: string, text: string): Source {
  const code = text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')
  const specifiers = specifiersOf(code)
  return {
    text: code,
    local: localOf(path, specifiers),
    loaded: localOf(path, specifiersOf(code.replaceAll(NOT_LOADED, ''))),
    packages: specifiers.filter((s) => !s.startsWith('.')),
  }
}

/** Imports of types, and those that a function may do. */
const NOT_LOADED = /^(import|export) type\b[^'=]*\bfrom '.*'|\bimport\(/gm

function specifiersOf(code: string) {
  const found = code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)
  return [...found].map(([, s]) => s as string)
}

function localOf(path: string, specifiers: readonly string[]) {
  return specifiers.filter((s) => s.startsWith('.')).map((s) => posix.join(posix.dirname(path), s))
}
