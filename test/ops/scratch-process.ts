// Makes a scratch folder and stays: node scratch-process.ts FOLDER
import { openScratch } from '../../ops/scratch.ts'

const log = { info: () => undefined, warn: () => undefined }
const scratch = await openScratch(process.argv[2] ?? '', log)
process.stdout.write(await scratch.makeFolder())
