// POST /{agent}/{thread} with {"text"}, {"decision"} or {} to go on; `Accept: text/event-stream` streams the words.
import { createServer } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { Command } from '@langchain/langgraph'
import { agents } from './agents.js'

function inputOf ({ text, decision }) {
  if (text !== undefined) return { messages: [{ role: 'user', content: text }] }
  return decision === undefined ? null : new Command({ resume: { decisions: [{ type: decision }] } })
}

const server = createServer(async (request, response) => {
  try {
    const [, name, thread] = request.url.split('/')
    const agent = agents[name]
    const input = inputOf(JSON.parse(await textOf(request)))
    const config = { configurable: { thread_id: thread } }
    if (request.headers.accept === 'text/event-stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for await (const [message] of await agent.stream(input, { ...config, streamMode: 'messages' })) response.write(`data: ${JSON.stringify(message.content)}\n\n`)
      response.end()
      return
    }
    const { messages, __interrupt__: asks } = await agent.invoke(input, config)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ answer: messages.at(-1).content, waits: asks !== undefined }))
  } catch (error) {
    console.error(error)
    if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: error.message }))
  }
})
server.listen(0, '127.0.0.1', () => { console.log(`Server listening at http://127.0.0.1:${server.address().port}`) })
