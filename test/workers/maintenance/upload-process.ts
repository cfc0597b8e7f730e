// Writes an upload that never ends: node upload-process.ts DATABASE_URL DATA_DIR KEY
import { setTimeout } from 'node:timers/promises'
import { readConfig } from '../../../ops/config.ts'
import { openStorage } from '../../../ops/storage/open.ts'
import { openDatabase } from '../../../sql/core/db.ts'

const [url = '', dataDir = '', key = ''] = process.argv.slice(2)
const storage = await openStorage(readConfig({ DATA_DIR: dataDir }), openDatabase(url))

async function* endless() {
  for (;;) {
    yield Buffer.alloc(1 << 20)
    await setTimeout(50)
  }
}

await storage.write(key, endless())
