// The operator's command line: node ops/admin.ts. Prints JSON, or its usage on standard error.
import { runCommandLine } from './command-line.ts'
import { keepFilesPrivate } from './private-files.ts'

keepFilesPrivate()
const { code, stdout, stderr } = await runCommandLine(process.argv.slice(2))
process.stdout.write(stdout)
process.stderr.write(stderr)
// A command that answers may have set another one.
if (code !== 0) process.exitCode = code
