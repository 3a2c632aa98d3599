import { type ModelReply, type ModelRequest, type Script, textOf } from '../scripted-model.ts'

/** The model as it should be: it calls the tool that the question is about, and says what came of it. */
export function goodReply (request: ModelRequest): ModelReply {
  const { messages, tools = [], response_format: format } = request
  const last = messages.at(-1)
  const asked = textOf(messages.findLast(({ role }) => role === 'user'))
  const offers = new Set(tools.map(({ function: { name } }) => name))
  if (isClassification(request)) {
    if (format !== undefined) return { text: '{"relevant":true}' }
    const [only] = offers
    return only === undefined ? { text: 'yes' } : { call: { name: only, arguments: '{"relevant":true}' } }
  }
  if (last?.role === 'tool' && textOf(last).includes('interrupted')) return { text: 'I cannot tell whether it was done: please look.' }
  // What has failed for another reason is tried again.
  if (last?.role === 'tool' && /Ada|done/.test(textOf(last))) return { text: 'It belongs to Ada now.' }
  if (offers.has('clerk')) return { call: { name: 'clerk', arguments: JSON.stringify({ task: asked }) } }
  if (offers.has('transfer') && asked.startsWith('Transfer')) return { call: { name: 'transfer', arguments: '{"part":"billing","to":"Ada"}' } }
  if (offers.has('find_owners')) return { call: { name: 'find_owners', arguments: '{"part":"billing"}' } }
  return { text: 'They spoke about who owns what: Ada.' }
}

/** It puts its yes into a sentence. */
export const saysYesInProse: Script = request => isClassification(request) ? { text: 'Yes, it is about who owns a part of the project.' } : goodReply(request)

/** Its first connections break before it answers. */
export function breaks (times: number): Script {
  let count = 0
  return request => count++ < times ? { breaks: true } : goodReply(request)
}

/** The arguments of its first call end too early. */
export function brokenArguments (): Script {
  let isFirst = true
  return request => {
    const reply = goodReply(request)
    if (!isFirst || !('call' in reply)) return reply
    isFirst = false
    return { call: { ...reply.call, arguments: reply.call.arguments.slice(0, -4) } }
  }
}

/** Each 17th answer is a failure of its API, each 11th says nothing that can be used. */
export function moody (): Script {
  let count = 0
  return request => {
    count++
    if (count % 17 === 0) return { status: 500 }
    return count % 11 === 0 ? { text: 'Let me think about that for a while.' } : goodReply(request)
  }
}

/** It answers in words, one after the other. */
export const talks: Script = () => ({ text: 'one two three four five six seven eight nine ten '.repeat(4), pieces: 20, gapMs: 20 })

function isClassification ({ messages }: ModelRequest): boolean {
  return messages.some(message => message.role === 'system' && textOf(message).startsWith('Decide whether'))
}
