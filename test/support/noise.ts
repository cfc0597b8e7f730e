// What packages and mistakes may do in a process of the service, at SIGUSR2. A test loads it by --import.
/* oxlint-disable no-console */
process.on('SIGUSR2', () => {
  process.emitWarning('something is old', { code: 'NOISE', type: 'DeprecationWarning' })
  console.log('two\nlines of %s', 'text')
  console.warn({ an: 'object' })
  process.stdout.write('no end of line')
  process.stderr.write(Buffer.from('bytes\n'), () => {
    void Promise.reject(new Error('nobody catches this'))
  })
})
