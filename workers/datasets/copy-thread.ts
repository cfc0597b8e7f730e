// A thread that copies lines of a file into another one.
import { closeSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Copying } from './copy-lines.ts'
import { readExactly } from './read-exactly.ts'
import { openLineFile } from './shard-files.ts'

if (parentPort) parentPort.postMessage(copyLines(workerData))

function copyLines({ from, to, lines }: Copying) {
  const source = openSync(from, 'r')
  const file = openLineFile(to)
  let line = new Uint8Array(0)
  for (let i = 0; i < lines.length; i += 2) {
    const [offset = 0, bytes = 0] = [lines[i], lines[i + 1]]
    if (line.length < bytes) line = new Uint8Array(bytes)
    readExactly(source, line, { bytes, from: offset })
    file.write([line.subarray(0, bytes)])
  }
  closeSync(source)
  return file.finish()
}
