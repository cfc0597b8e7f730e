/**
 * A command of the operator as one types it here. Where the Node.js of the packages runs this program, the
 * machine's own may be too old to read TypeScript, and `npx` finds that of the packages.
 */
export function adminCommand(words: string, execPath = process.execPath) {
  const node = /[\\/]node_modules[\\/]/.test(execPath) ? 'npx node' : 'node'
  return `${node} ops/admin.ts ${words}`.trimEnd()
}
