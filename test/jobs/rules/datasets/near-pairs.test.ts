import t from 'tap'
import { openNearPairs } from '../../../../jobs/rules/datasets/near-pairs.ts'
import type { SettledPair } from '../../../../jobs/rules/datasets/near-pairs.ts'
import { nearScope } from '../../../../jobs/rules/datasets/near-scope.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import type { RecipeRequest } from '../../../../jobs/rules/datasets/recipe.ts'
import fc from '../../../support/property.ts'

const COUNT = 30
const pair = fc
  .tuple(fc.nat(COUNT - 1), fc.nat(COUNT - 1))
  .filter(([rank, better]) => better < rank)

t.test(
  'of two near rows not both stay, and none goes without a better one that stays',
  async (t) => {
    fc.assert(
      fc.property(fc.uniqueArray(pair, { selector: String, maxLength: 200 }), (given) => {
        const settled = settle(given)
        const gone = new Set(settled.filter(({ replaces }) => replaces).map(({ rank }) => rank))
        for (const { rank, better, replaces } of settled) {
          t.ok(gone.has(rank) || gone.has(better))
          if (replaces) t.notOk(gone.has(better))
        }
        t.equal(settled.filter(({ replaces }) => replaces).length, gone.size, 'a row goes once')
      }),
    )
  },
)

t.test('it does not matter in which order near rows are found', async (t) => {
  const few = fc.uniqueArray(pair, { selector: String, maxLength: 30 })
  fc.assert(
    fc.property(few, (given) => {
      fc.pre([...Map.groupBy(given, ([rank]) => rank).values()].every(({ length }) => length <= 8))
      const led = (settled: readonly SettledPair[]) => settled.filter(({ replaces }) => replaces)
      t.same(led(settle(given.toReversed())), led(settle(given)))
    }),
  )
})

t.test('nothing is merged over a chain', async (t) => {
  const settled = settle([
    [1, 0],
    [2, 1],
    [3, 2],
  ])
  t.same(
    settled.map(({ rank, replaces }) => [rank, replaces]),
    [
      [1, true],
      [2, false],
      [3, true],
    ],
  )
})

t.test('a row is full with eight better ones, and the best that stays replaces', async (t) => {
  const pairs = openNearPairs(20)
  for (let better = 9; better > 1; better--) {
    t.notOk(pairs.isFull(15))
    pairs.add(15, better, 100 + better)
  }
  t.ok(pairs.isFull(15))
  t.notOk(pairs.isFull(14))
  t.ok(pairs.has(15, 2))
  t.notOk(pairs.has(15, 1))
  const settled: SettledPair[] = []
  pairs.settle()
  pairs.tellAll((one) => settled.push(one))
  t.same(
    settled.filter(({ replaces }) => replaces),
    [{ rank: 15, better: 2, equal: 102, replaces: true }],
  )
})

t.test('a row whose better ones are all left out has room for others', async (t) => {
  const pairs = openNearPairs(20)
  for (let better = 1; better <= 8; better++) {
    pairs.add(better, 0, 110)
    pairs.add(15, better, 110)
  }
  t.ok(pairs.isFull(15))
  t.ok(pairs.settle())
  t.notOk(pairs.isGone(15))
  t.notOk(pairs.isFull(15))
  t.ok(pairs.wasFull(15))
  pairs.add(15, 9, 120)
  t.ok(pairs.has(15, 9))
  t.ok(pairs.settle())
  t.ok(pairs.isGone(15))
  t.notOk(pairs.settle(), 'nothing was added since')
})

t.test('rows that are left out remain so once no more are looked for', async (t) => {
  for (const isLast of [false, true]) {
    const pairs = openNearPairs(4)
    pairs.add(2, 1, 110)
    pairs.settle()
    pairs.add(1, 0, 110)
    pairs.settle(isLast)
    t.ok(pairs.isGone(1))
    t.equal(pairs.isGone(2), isLast)
    const settled: SettledPair[] = []
    pairs.tellAll((one) => settled.push(one))
    t.same(
      settled.map(({ replaces }) => replaces),
      [true, isLast],
    )
  }
})

t.test('rows are compared for near, and across splits unless duplicates are welcome', async (t) => {
  const scopeOf = (request: RecipeRequest) => nearScope(completeRecipe('sft', null, request))
  const split = { train: 0.9, test: 0.1 }
  t.equal(scopeOf({}), 'none')
  t.equal(scopeOf({ split: { train: 1, test: 0 } }), 'none')
  t.equal(scopeOf({ split }), 'other_split')
  t.equal(scopeOf({ split, options: { dedupe: 'none' } }), 'none')
  t.equal(scopeOf({ split, options: { dedupe: 'near' } }), 'any')
  t.equal(scopeOf({ options: { dedupe: 'near' } }), 'any')
})

function settle(given: readonly (readonly [rank: number, better: number])[]) {
  const pairs = openNearPairs(COUNT)
  for (const [rank, better] of given) if (!pairs.isFull(rank)) pairs.add(rank, better, 110)
  const settled: SettledPair[] = []
  pairs.settle()
  pairs.tellAll((one) => settled.push(one))
  return settled
}
