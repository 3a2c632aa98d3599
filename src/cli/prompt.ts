import { readFile, writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { isJsonObject, type Json, type JsonObject, objectOf, parseJson, stringifyJson, textOf } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import { type Answer, AnswerReader, errorIn } from '../llm/answer.ts'
import { readReply } from '../llm/history.ts'
import type { ServerSentEvent } from '../runtime/server-sent-events.ts'
import { apiError, apiPath, type ApiReply } from './api-client.ts'
import { type Cli, readParameters, withParameters } from './context.ts'
import { CliError, EXIT, type Output, type Style, usageError } from './output.ts'
import { idOf, type IdOptions, withId } from './entries.ts'

const PROMPT = { noun: 'prompt', command: 'prompt' }

interface VariableFlags extends IdOptions { readonly param?: readonly string[], readonly args?: string }

interface RenderFlags extends VariableFlags { readonly explain?: true, readonly label?: string, readonly record?: string, readonly replay?: string }

export function addPromptCommands (prompt: Command, cli: Cli): void {
  withParameters(withId(prompt.command('render').description('print what a prompt renders to'), PROMPT))
    .option('--label <label>', 'the version that a label means')
    .option('--explain', 'print where each piece comes from, in colour on a terminal')
    .option('--record <file>', 'write all that it depended on to a file, too')
    .addOption(new Option('--replay <file>', 'render again what was recorded, without a call').conflicts('record'))
    // Scripts for the former program in Go pass a model to `render`, too; it is ignored.
    .addOption(new Option('-m, --model <model>').hideHelp())
    .action(async (id: string | undefined, options: RenderFlags, command: Command) => { await render(idOf(PROMPT, id, options), options, command, cli) })

  withParameters(withId(prompt.command('chat').description('ask the model with a prompt; its text is printed as it comes'), PROMPT))
    .option('-m, --model <model>', 'the model to ask')
    .option('--no-stream', 'print the answer when it is whole')
    .action(async (id: string | undefined, options: VariableFlags & { readonly model?: string, readonly stream: boolean }, command: Command) => {
      const { api, output } = cli.open(command)
      const path = apiPath('api', 'chat', 'prompts', idOf(PROMPT, id, options))
      const body = { variables: await readParameters(options, cli.stdin, cli.signal), model: options.model }
      if (output.wantsJson) return await output.json(await api.post(path, body))
      if (!options.stream) return await printAnswer(output, objectOf(await api.post(path, body)))
      await printStream(output, api.events(path, { ...body, stream: true, stream_options: { include_usage: true } }))
    })
}

async function render (id: string, options: RenderFlags, command: Command, cli: Cli): Promise<void> {
  const { api, output } = cli.open(command)
  const { explain, label, record, replay } = options
  const readVariables = async () => await readParameters(options, cli.stdin, cli.signal)
  const hasVariables = options.args !== undefined || options.param !== undefined
  // A bundle has the variables of its render; they are replaced only if the user gives others.
  const body = replay === undefined
    ? { variables: await readVariables() }
    : { bundle: await readBundle(replay), variables: hasVariables ? await readVariables() : undefined }
  const query = { label, explain, tools: record === undefined ? undefined : 'record' as const }
  const reply = await api.ask('post', '/api/render/prompts/{id}', { id, ...query }, body)
  if (record !== undefined) await writeBundle(record, reply.bundle)
  if (output.wantsJson) return await output.json(reply)
  if (reply.explain !== undefined) return await printExplanation(output, reply.explain)
  await printRendered(output, reply.rendered_prompt)
}

async function readBundle (file: string): Promise<Json> {
  try {
    return parseJson(await readFile(file, 'utf8'))
  } catch (error) {
    throw usageError(`--replay: ${file} cannot be read: ${(error as Error).message}`)
  }
}

async function writeBundle (file: string, bundle: object | undefined): Promise<void> {
  // Private to the user: results of tools may be confidential.
  await writeFile(file, `${stringifyJson(bundle ?? null, 2)}\n`, { mode: 0o600 }).catch((error: unknown) => {
    throw usageError(`--record: ${(error as Error).message}`)
  })
}

type RenderReply = ApiReply<'post', '/api/render/prompts/{id}'>

const MAX_SHOWN = 200

/** Prints a rendered prompt: a text as it is, messages below the names of their roles. */
async function printRendered (output: Output, rendered: RenderReply['rendered_prompt']): Promise<void> {
  if (typeof rendered === 'string') return await output.text(rendered)
  for (const { role, content } of rendered) {
    await output.heading(`[${role}]`)
    await output.text(typeof content === 'string' ? content : (content ?? []).map(part => describePart(part as JsonObject)).join('\n'))
  }
}

function describePart (part: JsonObject): string {
  if (part['type'] === 'text') return textOf(part['text'])
  const { type = '' } = part
  const { url, data, file_data: fileData, file_id: id, filename } = objectOf(part[textOf(type)])
  return `[${textOf(type)}${filename === undefined ? '' : ` ${textOf(filename)}`}] ${beginningOf(textOf(url ?? data ?? fileData ?? id), MAX_SHOWN)}`
}

const STYLES: Readonly<Record<string, Style>> = { variable: 'blue', environ: 'green', tool: 'yellow', default: 'dim' }

type ExplainedMessage = NonNullable<RenderReply['explain']>['messages'][number]

/** In colours on a terminal, else as a table with a row for each piece. */
async function printExplanation (output: Output, { messages, calls }: NonNullable<RenderReply['explain']>): Promise<void> {
  if (output.hasColour) {
    for (const message of messages) await printMessage(output, message, messages.length > 1)
    await output.words('blue: variable, green: shared variable, yellow: tool, dim: default')
  } else {
    await output.rows(['role', 'place', 'origin', 'text'], messages.flatMap(rowsOf))
  }
  for (const { tool, outcome, durationMs } of calls) await output.words(`${tool}: ${outcome}, ${durationMs} ms`)
}

function rowsOf ({ role = 'history', spans }: ExplainedMessage): string[][] {
  return spans.map(span => [role, placeOf(span), originOf(span), span.text])
}

async function printMessage (output: Output, { role = 'history', spans }: ExplainedMessage, hasHeading: boolean): Promise<void> {
  if (hasHeading) await output.heading(`[${role}]`)
  for (const { text, sources } of spans) {
    // A piece that a tool has made from a variable gets the style of tools.
    const kind = (['tool', 'environ', 'variable', 'default'] as const).find(each => sources.some(source => source.kind === each))
    await output.styledPiece(STYLES[kind ?? ''], text)
  }
  await output.piece('\n')
}

function placeOf ({ partial, part, line, column }: ExplainedMessage['spans'][number]): string {
  return `${part === undefined ? '' : `[${part}]:`}${partial === undefined ? '' : `${partial}:`}${line}:${column}`
}

function originOf ({ sources }: ExplainedMessage['spans'][number]): string {
  return sources.map(source => `${source.kind}${'path' in source ? ` ${source.path}` : 'tool' in source ? ` ${source.tool}` : ''}`).join(', ')
}

/** Text to stdout; calls of tools and use of tokens to stderr. */
async function printAnswer (output: Output, completion: JsonObject): Promise<void> {
  const answer = readReply(completion, {})
  await output.text(answer.text)
  await printEnd(output, answer)
  await printUsage(output, completion)
}

/** @throws CliError if the stream carries an error, or breaks off */
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
