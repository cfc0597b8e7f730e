import fc from 'fast-check'

/**
 * fast-check as every test uses it: a run has the same examples as the one before, unless FC_SEED, a
 * whole number, asks for others. What fails prints its seed and the path to its example.
 */
export default fc

fc.configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 20_260_101) })
