import t from 'tap'
import { metricOf } from '../../../../jobs/rules/skills/registry-order.ts'
import type { Measured } from '../../../../jobs/rules/skills/registry-order.ts'

const nothing: Measured = {
  score: null,
  rating: null,
  rating_count: 0,
  lift: null,
  token_saving: null,
  install_count: 0,
  published_at: new Date('2026-03-04T05:06:07Z'),
}
const measured: Measured = {
  ...nothing,
  score: 0.7654,
  rating: 0.5,
  rating_count: 1,
  lift: 0.125,
  token_saving: -0.2,
  install_count: 1,
}

t.test('what puts a skill in its place is told as a number and for people', (t) => {
  for (const [order, value, label] of [
    ['score', 0.7654, '0.77'],
    ['rating', 0.5, '0.50 by 1 rating'],
    ['lift', 0.125, '+12.5 points'],
    ['saving', -0.2, '20.0 % more tokens'],
    ['installs', 1, '1 install'],
    ['time', '2026-03-04T05:06:07.000Z', '2026-03-04'],
  ] as const) {
    t.same(metricOf(order, measured), { name: order, value, label })
  }
  t.equal(metricOf('lift', { ...measured, lift: -0.1 }).label, '-10.0 points')
  t.equal(metricOf('saving', { ...measured, token_saving: 0.2 }).label, '20.0 % fewer tokens')
  t.end()
})

t.test('what there is no evidence of has no value, and a label all the same', (t) => {
  for (const [order, label] of [
    ['score', 'New'],
    ['rating', 'Not rated'],
    ['lift', 'No benchmark'],
    ['saving', 'No benchmark'],
  ] as const) {
    t.same(metricOf(order, nothing), { name: order, value: null, label })
  }
  t.equal(metricOf('installs', nothing).label, '0 installs')
  t.end()
})
