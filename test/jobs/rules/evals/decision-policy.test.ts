import t from 'tap'
import {
  DEFAULT_POLICY,
  policyFor,
  policyHash,
  resolvePolicy,
} from '../../../../jobs/rules/evals/decision-policy.ts'

t.test('a policy', async (t) => {
  t.test('is its preset with what was set besides', async (t) => {
    t.match(resolvePolicy({}), {
      preset: 'default',
      keep_at: 0.7,
      drop_at: 0.4,
      on_doubt: 'review',
    })
    t.match(resolvePolicy({ preset: 'strict' }), { keep_at: 0.8, drop_at: 0.5, on_doubt: 'replay' })
    t.match(resolvePolicy({ preset: 'permissive' }), { drop_at: 0 })
    t.match(resolvePolicy({ thresholds: { keep_at: 0.9 }, source_weights: { custom: 1 } }), {
      keep_at: 0.9,
      drop_at: 0.4,
      source_weights: { human: 1, verifier: 1, third_party: 0.7, custom: 1, builtin: 0.1 },
    })
  })

  t.test('has the same hash for the same settings only', async (t) => {
    const { source_weights, ...rest } = resolvePolicy({})
    const turned = Object.fromEntries(Object.entries(source_weights).reverse())
    t.equal(policyHash({ source_weights: turned as never, ...rest }), policyHash(resolvePolicy({})))
    t.not(
      policyHash(resolvePolicy({ thresholds: { keep_at: 0.71 } })),
      policyHash(resolvePolicy({})),
    )
    t.not(policyHash(resolvePolicy({ preset: 'strict' })), policyHash(resolvePolicy({})))
  })

  t.test('of an agent goes before that of its project', async (t) => {
    const own = { agent_name: 'a', version: 2, settings: resolvePolicy({ preset: 'strict' }) }
    const project = { agent_name: '', version: 5, settings: resolvePolicy({}) }
    t.equal(policyFor([project, own], 'a'), own)
    t.equal(policyFor([project, own], 'b'), project)
    t.equal(policyFor([own], 'b'), DEFAULT_POLICY)
  })
})
