import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Answer, AnswerReader, errorIn } from '../llm/answer.ts'
import { readReply } from '../llm/history.ts'
import { type ServerSentEvent } from '../runtime/server-sent-events.ts'
import { apiError } from './api-error.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { objectOf } from './json-members.ts'
import { type Output } from './output.ts'

/** Prints a chat completion: its text to stdout; the tools that the model calls and its use of tokens to stderr. */
export async function printAnswer (output: Output, completion: JsonObject): Promise<void> {
  const answer = readReply(completion, {})
  await output.text(answer.text)
  await printEnd(output, answer)
  await printUsage(output, completion)
}

/**
 * Prints the text of a streamed chat completion while it comes, and at the end the calls of tools and the use of tokens.
 * @throws CliError if the stream carries an error, or breaks off
 */
export async function printStream (output: Output, events: AsyncIterable<ServerSentEvent>): Promise<void> {
  const reader = new AnswerReader()
  let said = ''
  let usageChunk: JsonObject = {}
  for await (const { data } of events) {
    if (data === undefined) continue
    if (data === '[DONE]') return await finish()
    const chunk = parse(data)
    if (errorIn(chunk) !== undefined) {
      await endLine()
      throw apiError(502, data, undefined)
    }
    await print(read(chunk))
    if (isJsonObject(chunk['usage'])) usageChunk = chunk
  }
  throw new CliError(EXIT.UNREACHABLE, 'the answer was cut short')

  function read (chunk: JsonObject): string {
    try {
      return reader.add(chunk).text
    } catch (error) {
      throw new CliError(EXIT.UNREACHABLE, (error as Error).message)
    }
  }

  async function print (text: string): Promise<void> {
    said += text
    await output.piece(text)
  }

  async function endLine (): Promise<void> {
    if (said !== '' && !said.endsWith('\n')) await output.piece('\n')
  }

  async function finish () {
    const answer = reader.answer()
    // The reader holds back what may be the beginning of thoughts.
    if (answer.text.startsWith(said)) await print(answer.text.slice(said.length))
    await endLine()
    await printEnd(output, answer)
    await printUsage(output, usageChunk)
  }
}

/** Prints what stands beside the text of an answer: calls, a refusal, and that it was cut. */
async function printEnd (output: Output, { calls, refusal, cut, finishReason }: Answer): Promise<void> {
  for (const { name, arguments: given } of calls) await output.words(`calls ${name} ${given}`)
  if (refusal !== '') await output.words(`the model refuses: ${refusal}`)
  if (cut) await output.words(`the answer was cut: ${String(finishReason)}`)
}

async function printUsage (output: Output, { usage, model }: JsonObject): Promise<void> {
  if (!isJsonObject(usage)) return
  const { prompt_tokens: input, completion_tokens: written } = usage
  await output.words(`${String(input)} tokens in, ${String(written)} out${typeof model === 'string' ? ` (${model})` : ''}`)
}

function parse (data: string): JsonObject {
  try {
    return objectOf(JSON.parse(data) as Json)
  } catch {
    throw new CliError(EXIT.UNREACHABLE, 'the answer is no stream of chat completions')
  }
}
