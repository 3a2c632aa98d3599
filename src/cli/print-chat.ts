import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type ServerSentEvent } from '../runtime/server-sent-events.ts'
import { ReplyAssembler } from '../service/chat/reply-assembler.ts'
import { apiError } from './api-error.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { listOf, objectOf, textOf } from './json-members.ts'
import { type Output } from './output.ts'

/** Prints a chat completion: its text to stdout; the tools that the model calls and its use of tokens to stderr. */
export async function printAnswer (output: Output, completion: JsonObject): Promise<void> {
  const [choice = null] = listOf(completion['choices'])
  const message = objectOf(objectOf(choice)['message'])
  await output.text(textOf(message['content']))
  await printCalls(output, message)
  await printUsage(output, completion)
}

/**
 * Prints the text of a streamed chat completion while it comes, and at the end the calls of tools and the use of tokens.
 * @throws CliError if the stream carries an error, or breaks off
 */
export async function printStream (output: Output, events: AsyncIterable<ServerSentEvent>): Promise<void> {
  const assembler = new ReplyAssembler()
  let last = '\n'
  let usageChunk: JsonObject = {}
  for await (const { data } of events) {
    if (data === undefined) continue
    if (data === '[DONE]') return await finish()
    const chunk = parse(data)
    if (isJsonObject(chunk['error'])) {
      if (last !== '\n') await output.piece('\n')
      throw apiError(502, data, undefined)
    }
    assemble(chunk, data)
    const text = deltaOf(chunk)
    await output.piece(text)
    last = text.at(-1) ?? last
    if (isJsonObject(chunk['usage'])) usageChunk = chunk
  }
  throw new CliError(EXIT.UNREACHABLE, 'the answer was cut short')

  function assemble (chunk: JsonObject, data: string) {
    try {
      assembler.add({ kind: 'chunk', chunk, data })
    } catch (error) {
      throw new CliError(EXIT.UNREACHABLE, (error as Error).message)
    }
  }

  async function finish () {
    if (last !== '\n') await output.piece('\n')
    await printCalls(output, assembler.messages()[0] ?? {})
    await printUsage(output, usageChunk)
  }
}

async function printCalls (output: Output, message: JsonObject): Promise<void> {
  for (const call of listOf(message['tool_calls'])) {
    const { name, arguments: given } = objectOf(objectOf(call)['function'])
    await output.words(`calls ${textOf(name)} ${textOf(given)}`)
  }
}

async function printUsage (output: Output, { usage, model }: JsonObject): Promise<void> {
  if (!isJsonObject(usage)) return
  const { prompt_tokens: input, completion_tokens: written } = usage
  await output.words(`${String(input)} tokens in, ${String(written)} out${typeof model === 'string' ? ` (${model})` : ''}`)
}

/** The text that one chunk of a streamed chat completion adds to the completion's first answer (choice 0). */
function deltaOf (chunk: JsonObject): string {
  const choice = listOf(chunk['choices']).map(objectOf).find(({ index = 0 }) => index === 0)
  return textOf(objectOf(choice?.['delta'])['content'])
}

function parse (data: string): JsonObject {
  try {
    return objectOf(JSON.parse(data) as Json)
  } catch {
    throw new CliError(EXIT.UNREACHABLE, 'the answer is no stream of chat completions')
  }
}
