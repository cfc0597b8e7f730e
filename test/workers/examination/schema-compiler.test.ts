import t from 'tap'
import { schemaCompiler } from '../../../workers/examination/schema-compiler.ts'

t.test('a schema keeps its conditions on parameters that are called like keywords', async (t) => {
  const compile = schemaCompiler()
  const faultsOf = (condition: object, value: object) => compile({ ...condition })(value)
  for (const name of ['id', '$schema', 'title', 'enum']) {
    const needed = [{ path: '/b', kind: 'missing_required' }]
    const given = { [name]: 1 }
    t.match(faultsOf({ dependentRequired: { [name]: ['b'] } }, given), needed, name)
    t.match(faultsOf({ dependentSchemas: { [name]: { required: ['b'] } } }, given), needed, name)
    const $schema = 'http://json-schema.org/draft-07/schema#'
    t.match(faultsOf({ $schema, dependencies: { [name]: ['b'] } }, given), needed, name)
    t.match(
      faultsOf({ $schema, dependencies: { [name]: { required: ['b'] } } }, given),
      needed,
      name,
    )
  }
  const part = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'a', type: 'string' }
  t.match(faultsOf({ dependentSchemas: { a: part } }, { a: 1 }), [{ kind: 'type' }])
})
