/**
 * The page of what a job made.
 * @param path of the result as the interface names it, below `/api/v1`
 * @returns undefined where no page shows it
 */
export function resultPage(path: string | null | undefined): ResultPage | undefined {
  if (!path) return undefined
  const { pathname, searchParams } = new URL(path, 'http://result')
  for (const [pattern, text, pageOf] of PAGES) {
    const found = pattern.exec(pathname)
    if (!found) continue
    const project = searchParams.get('project')
    const query = project
      ? `${pageOf(found).includes('?') ? '&' : '?'}project=${encodeURIComponent(project)}`
      : ''
    return { text, href: `/console/${pageOf(found)}${query}` }
  }
  return undefined
}

export interface ResultPage {
  readonly text: string
  readonly href: string
}

/** Ids and names stay encoded, as the interface wrote them. */
const PAGES: readonly [RegExp, string, (found: readonly string[]) => string][] = [
  [
    /\/datasets\/([^/]+)\/versions\/([^/]+)/,
    'Open the dataset version',
    ([, dataset, version]) => `datasets/${dataset}/versions/${version}`,
  ],
  [/\/repair\/([^/]+)$/, 'Open the repair', ([, id]) => `replay/repairs/${id}`],
  [/\/replay\/batches\/([^/]+)$/, 'Open the replay batch', ([, id]) => `replay/${id}`],
  [/\/regression-check\/([^/]+)$/, 'Open the check', ([, id]) => `checks/${id}`],
  [
    /\/agents\/([^/]+)\/bisect$/,
    'Open the regressions',
    ([, name]) => `regressions?agent_name=${name}`,
  ],
  [/\/import\/([^/]+)$/, 'Open the import', ([, id]) => `imports/${id}`],
  [/\/skills\/([^/]+)\/versions\//, 'Open the skill', ([, id]) => `skills/${id}`],
  [/\/manifests\/([^/]+)\/compatibility\//, 'Open the version', ([, id]) => `manifests/${id}`],
]
