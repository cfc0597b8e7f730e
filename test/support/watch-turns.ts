// Loaded before a program (node --import): tells whoever started it what its event loop and its memory
// went through since it was last asked.
const TICK_MS = 1

let usedUs = 0
let longestUs = 0
let peakRssBytes = 0

function tick() {
  const { user, system } = process.threadCpuUsage()
  longestUs = Math.max(longestUs, user + system - usedUs)
  usedUs = user + system
  peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss())
}

setInterval(tick, TICK_MS).unref()

process.on('message', () => {
  tick()
  const told = { holdMs: longestUs / 1000, rssBytes: peakRssBytes }
  // What one request leaves to be collected is not the next one's.
  globalThis.gc?.()
  process.send?.(told)
  const { user, system } = process.threadCpuUsage()
  usedUs = user + system
  longestUs = 0
  peakRssBytes = 0
})
process.channel?.unref()
