import t from 'tap'
import type { Test } from 'tap'
import type { RowParts } from '../../../../jobs/rules/datasets/formats.ts'
import type { TrainingMessage } from '../../../../jobs/rules/datasets/messages.ts'
import { openRowSigner } from '../../../../jobs/rules/datasets/near-text.ts'
import { openTexts } from '../../../../ops/bench/near-texts.ts'
import { isSigned, openSigner } from '../../../../jobs/rules/datasets/signature.ts'

const sign = openSigner()
const signRow = openRowSigner()
const said = (role: TrainingMessage['role'], content: string | null, more: object = {}) =>
  ({ role, content, weight: 0, ...more }) as TrainingMessage
const call = {
  id: 'call_1',
  name: 'find',
  arguments: '{"city": "Rome"}',
  canonical: '',
  parsed: {},
}

const signsOnly = (t: Test, parts: RowParts, ...texts: string[]) =>
  t.same(signRow(parts), sign(texts))

t.test('a conversation counts without its system prompts and names of tools', async (t) => {
  const messages = [
    said('system', 'You are an agent of few words and many tools'),
    said('developer', 'Be brief'),
    said('user', 'Where do I find a room for tonight'),
    said('assistant', null, { tool_calls: [call], reasoning: 'He wants a room' }),
    said('tool', 'no rooms today', { name: 'find' }),
    said('assistant', null, { refusal: 'I cannot help with that' }),
  ]
  const [asked, answer, refusal] = [messages[2], messages[4], 'I cannot help with that']
  const texts = [asked?.content, call.arguments, answer?.content, refusal] as string[]
  signsOnly(t, { lists: { messages } }, ...texts)
})

t.test('a pair counts with its two turns', async (t) => {
  const texts = openTexts(1)
  const [better, worse] = [texts.text(12), texts.text(8)]
  const chosen = [said('assistant', better)]
  const rejected = [said('assistant', worse)]
  const prompt = [said('user', 'Which one is better?')]
  signsOnly(t, { lists: { prompt, chosen, rejected } }, better, worse)
})

t.test('a completion counts with the last message of the user, apart by its label', async (t) => {
  const prompt = [said('user', 'first'), said('assistant', 'one'), said('user', 'and the second')]
  const answer = openTexts(2).text(20)
  const completion = [said('assistant', answer)]
  const lists = { prompt, completion }
  signsOnly(t, { lists, label: true }, 'and the second', answer)
  const [good, bad] = [signRow({ lists, label: true }), signRow({ lists, label: false })]
  t.ok(isSigned(bad))
  t.equal(good.filter((value, bin) => value === bad[bin]).length, 0)
})

t.test('a pair or completion of few words may answer to something else', async (t) => {
  const [prompt, short] = [[said('user', 'Shall we?')], openTexts(3).text(17)]
  const completion = [said('assistant', short)]
  const long = [said('assistant', `${short} then`)]
  t.notOk(isSigned(signRow({ lists: { prompt, completion }, label: true })))
  t.ok(isSigned(signRow({ lists: { prompt, completion: long }, label: true })))
  const [chosen, rejected] = [completion, [said('assistant', 'no no')]]
  t.notOk(isSigned(signRow({ lists: { prompt, chosen, rejected } })))
  t.ok(isSigned(signRow({ lists: { prompt, chosen: long, rejected } })))
  t.ok(isSigned(signRow({ lists: { messages: [...prompt, said('assistant', 'Yes')] } })))
})

t.test('of a script without blanks letters are counted', async (t) => {
  const prompt = [said('user', '?')]
  const signed = (text: string) =>
    isSigned(signRow({ lists: { prompt, completion: [said('assistant', text)] }, label: true }))
  t.notOk(signed('我们可以在明天下午三点钟见面吗你看呢'))
  t.ok(signed('我们可以在明天下午三点钟见面吗，你看怎么样呢？'))
})

t.test('a row with what is not text is not signed', async (t) => {
  const picture = said('user', 'What is in this picture?', { parts: ['{}'], hasMedia: true })
  const messages = [picture, said('assistant', 'A cat that sleeps on the roof')]
  t.notOk(isSigned(signRow({ lists: { messages } })))
})
