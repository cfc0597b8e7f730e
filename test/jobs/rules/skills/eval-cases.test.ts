import t from 'tap'
import { countEvalCases } from '../../../../jobs/rules/skills/eval-cases.ts'

t.test('the cases of an evaluation', (t) => {
  for (const [what, yaml, count] of [
    ['are the items of the list', 'name: x\ncases:\n  - id: a\n    in: 1\n  - id: b\n', 2],
    ['may stand as far left as the list', 'cases:\n- a\n- b\n-\n  c: 1\nmore:\n- x\n', 3],
    ['may have lists of their own', 'cases:\n  - steps:\n      - x\n      - y\n  - steps: []\n', 2],
    ['end with the list', 'cases: # all\n  - a\n\n# note\n  - b\nother:\n  - c\n', 2],
    ['may have other ends of lines', 'cases:\r\n  - a\r\n  -\r\n    b: 1\r\nx: 1\r\n', 2],
    ['are none in an empty list', 'cases:\nother: 1\n', 0],
    ['are not known of another list', 'tests:\n  - a\n  cases:\n    - b\n', null],
    ['are not known of what is no YAML', '\u{1f986} - {', null],
  ] as const) {
    t.equal(countEvalCases(yaml), count, what)
  }
  t.end()
})
