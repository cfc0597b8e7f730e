import t from 'tap'
import { openService } from '../../support/service.ts'

t.test('who may start a skill', async (t) => {
  const service = await openService(t)
  const { key } = await service.makeOrganization()
  const client = service.client(key)
  const sync = (frontmatter: object | null) =>
    client.post('/skills/sync', { skills: [{ name: 's', body_markdown: 'x', frontmatter }] })
  const said = async () => (await client.get('/skills/s')).body.invocation

  t.test('is what the frontmatter says where nothing else does', async (t) => {
    await sync({ 'disable-model-invocation': 'true' })
    t.equal(await said(), 'user', 'also as text')
    await sync(null)
    t.equal(await said(), 'user')
    await sync({ license: 'MIT' })
    t.equal(await said(), 'any')
  })

  t.test('stays where the frontmatter says the same as before', async (t) => {
    await client.put('/skills/s', { invocation: 'model' })
    await sync({ license: 'Apache-2.0' })
    t.equal(await said(), 'model')
  })

  t.test('is what the request says before all', async (t) => {
    const frontmatter = { 'disable-model-invocation': true }
    await client.put('/skills/s', { frontmatter, invocation: 'any' })
    t.equal(await said(), 'any')
  })
})
