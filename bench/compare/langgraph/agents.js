import { AIMessage } from '@langchain/core/messages'
import { Command, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, humanInTheLoopMiddleware, summarizationMiddleware, tool } from 'langchain'
import { z } from 'zod'

const { MODEL_URL, TOOLS_URL, CHECKPOINTS } = process.env
const checkpointer = SqliteSaver.fromConnString(CHECKPOINTS)
const model = new ChatOpenAI({ model: 'scripted', apiKey: 'k', configuration: { baseURL: MODEL_URL } })
const DESK = 'You answer questions about the project in one sentence.'

const findOwners = tool(async ({ part }) => {
  const response = await fetch(`${TOOLS_URL}/owners/${encodeURIComponent(part)}`)
  return await response.text()
}, { name: 'find_owners', description: 'Finds who owns a part of the project', schema: z.object({ part: z.string() }) })

const transfer = tool(async ({ part, to }) => {
  const response = await fetch(`${TOOLS_URL}/transfers`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ part, to }) })
  return await response.text()
}, { name: 'transfer', description: 'Gives a part of the project to somebody else', schema: z.object({ part: z.string(), to: z.string() }) })

const asksFirst = () => humanInTheLoopMiddleware({ interruptOn: { transfer: true } })

/** Calls tools as it likes; a transfer waits for a person. */
const desk = createAgent({ model, tools: [findOwners, transfer], systemPrompt: DESK, middleware: [asksFirst()], checkpointer })

/** Hands work to an agent of its own, whose transfers wait for a person. */
const clerk = createAgent({ model, tools: [transfer], systemPrompt: DESK, middleware: [asksFirst()] })
const askClerk = tool(async ({ task }) => {
  const { messages } = await clerk.invoke({ messages: [{ role: 'user', content: task }] })
  return messages.at(-1).content
}, { name: 'clerk', description: 'Does the paperwork', schema: z.object({ task: z.string() }) })
const guide = createAgent({ model, tools: [askClerk], systemPrompt: 'You guide people and let the clerk do the work.', checkpointer })

/** Answers what is its business, and nothing else. */
const owners = createAgent({ model, tools: [findOwners], systemPrompt: DESK, middleware: [summarizationMiddleware({ model, trigger: { tokens: 4000 }, keep: { messages: 20 } })] })
const Relevance = z.object({ relevant: z.boolean() })
async function classify ({ messages }) {
  const instruction = { role: 'system', content: 'Decide whether the last message asks who owns a part of the project.' }
  const { relevant } = await model.withStructuredOutput(Relevance).invoke([instruction, ...messages])
  return relevant ? new Command({ goto: 'answer' }) : new Command({ goto: END, update: { messages: [new AIMessage('I cannot help with that.')] } })
}
const librarian = new StateGraph(MessagesAnnotation)
  .addNode('classify', classify, { ends: ['answer', END], retryPolicy: { maxAttempts: 3 } })
  .addNode('answer', owners.graph, { retryPolicy: { maxAttempts: 3 } })
  .addEdge(START, 'classify')
  .compile({ checkpointer })

export const agents = { desk, guide, librarian }
