// Writes an upload that never ends: node upload-process.ts DATABASE_URL DATA_DIR
import { setTimeout } from 'node:timers/promises'
import { readConfig } from '../../../ops/config.ts'
import { openStorage } from '../../../ops/storage.ts'
import { openDatabase } from '../../../sql/core/db.ts'

const [url = '', dataDir = ''] = process.argv.slice(2)
const { STORAGE_DIR } = readConfig({ DATA_DIR: dataDir })

async function* endless() {
  for (;;) {
    yield Buffer.alloc(1 << 20)
    await setTimeout(50)
  }
}

await openStorage(STORAGE_DIR, openDatabase(url)).write('imports/killed', endless())
