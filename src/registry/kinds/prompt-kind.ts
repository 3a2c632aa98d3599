import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import type { Slices } from '../../runtime/event-loop.ts'
import { keyToPath } from '../../store/store.ts'
import { parseParameters } from '../../tool/parameters.ts'
import { type CompiledSchema, SchemaError } from '../../tool/schema/schema.ts'
import { type Diagnostic, reject } from '../diagnostic.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'
import { checkPromptId } from '../link/references.ts'
import { asPromptObject, decodeTemplate, type EntryKind } from './entry-kind.ts'
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts'
import { lintName, lintPromptDefinition, parsePromptDefinition, type PromptDefinition } from './prompt-definition.ts'
import { parsePromptParameters, type PromptParameters } from './prompt-parameters.ts'

/**
 * The kind of entries that are prompts with a key of their own, stored under `shenma:templates:*`. Prompts that an extension brings are part of the
 * extension's entry instead.
 */
export const promptKind: EntryKind<PromptEntry> = {
  key: 'templates',
  name: 'prompts',
  noun: 'prompt',
  reading: 'whole',
  access: 'prompts',
  hasDotprompt: true,
  decode: decodeTemplate,
  normalise: asPromptObject,
  check: (entry, { lint }) => lint('templates', entry),
  parser: ({ prefix, cache }) => templateParser(prefix, cache)
}

/** The parser of prompts with a key of their own, `shenma:templates:*`. A prompt's id comes from its key. */
export function templateParser (prefix: string, cache: TemplateCache): EntryParser<PromptEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    parse: async (key, text, slices) => await parsePromptEntry(keyToPath(key, prefix), 'direct', decodeTemplate(text).value, cache, slices),
    isSound,
    isUsable: isSound,
    diagnostics: entry => entry.diagnostics
  }
}

/** One registered prompt, compiled. It is not linked yet: the prompts that it includes are still only names. */
export interface PromptEntry {
  /** The dotted id: `evaluator.evaluate_quality`. */
  readonly id: string
  readonly origin: 'direct' | 'extension'
  /**
   * The number of the version, for an entry that was read from a stored version of a prompt. Left out for the prompt itself, which a request gets when
   * it names neither a label nor a version.
   */
  readonly version?: number
  readonly definition: PromptDefinition
  /** The variables that the prompt declares; `undefined` when it declares none. */
  readonly parameters: PromptParameters | undefined
  readonly chat: PromptChat
  readonly compiled: CompiledPrompt
  readonly diagnostics: readonly Diagnostic[]
  /**
   * When this process read the entry, in ms, on the clock of `Date.now()`. The time stays the same until the entry changes, because an unchanged entry
   * is not read again.
   */
  readonly seenAt: number
  /** A hash of the prompt alone, without the prompts that it includes. */
  readonly hash: string
  /**
   * A hash of the fields that decide what is rendered and sent to a model. It leaves out other fields, such as the owner: a caller who insists on one
   * revision still gets it after these have changed.
   */
  readonly revision: string
}

/** The fields that decide what is rendered and sent to a model, and so the prompt's revision; `description`, `supports` and a publisher's own fields do not. */
const PINNED = ['syntax', 'messages', 'userPrompt', 'prompt', 'parameters', 'returns', 'structured', 'defaults']

/** Checks and compiles one prompt. @throws RejectedEntry when it cannot be used at all; a syntax error is a diagnostic of the entry instead */
export async function parsePromptEntry (id: string, origin: PromptEntry['origin'], value: Json, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  checkPromptId(id)
  const definition = parsePromptDefinition(value)
  const parameters = parsePromptParameters(definition.parameters)
  const compiled = await compilePrompt(definition, parameters?.names, cache, slices)
  return {
    id,
    origin,
    definition,
    parameters,
    chat: parsePromptChat(id, definition.source),
    compiled,
    diagnostics: [...lintPromptDefinition(definition), ...lintName(id, definition), ...compiled.diagnostics],
    seenAt: Date.now(),
    hash: contentHash(definition.source),
    revision: contentHash(Object.fromEntries(Object.entries(definition.source).filter(([field]) => PINNED.includes(field))))
  }
}

/** Whether all templates of a prompt could be compiled. A prompt that is only a picture has no templates, and is sound. */
export function isSound ({ compiled, definition }: PromptEntry): boolean {
  return compiled.texts.length === definition.texts.length
}

/** The chat settings of a prompt: its fields `defaults`, `returns` and `structured`, parsed and checked. */
interface PromptChat {
  /** Fields of the OpenAI request; the caller's own fields override them. */
  readonly fields: JsonObject
  /** The models to ask when the prompt's first model fails. They replace the ones that the operator has configured for that case. */
  readonly fallbacks: readonly string[] | undefined
  /** The limit of the input, in estimated tokens; `undefined` for no limit. Above it the chat is refused, and the model is not asked. */
  readonly maxInputTokens: number | undefined
  /** The settings of a chat in which the model calls tools; `undefined` when the service offers the model no tools. */
  readonly toolLoop: ToolLoopSettings | undefined
  /** The schema that the model's answer must fit; `undefined` when any answer will do. */
  readonly answer: AnswerSchema | undefined
}

/** The settings of a tool loop (a chat in which the model calls registered tools until it answers). */
interface ToolLoopSettings {
  /** The ids or function names of the tools; `undefined` for the tools that the prompt's own templates refer to. */
  readonly tools: readonly string[] | undefined
  /** The most calls of the model. In the last one the model is told to answer without calling tools. */
  readonly maxTurns: number
}

/** The schema of a model's answer. */
export interface AnswerSchema {
  /** The schema as the field `response_format` of the model's API. */
  readonly responseFormat: JsonObject
  readonly compiled: CompiledSchema
}

const DEFAULT_MAX_TURNS = 5

/**
 * Reads a prompt's chat settings from a prompt that fits `jsonschema/prompt.json`.
 * @param id the prompt's id, which names the answer's schema
 * @throws RejectedEntry when `structured` is asked for and `returns` is no schema
 */
function parsePromptChat (id: string, source: JsonObject): PromptChat {
  // `stream` and `messages` are not taken from `defaults`. The caller, who reads the answer, decides whether it is streamed; the messages come from the
  // prompt's templates.
  const { fallbacks, maxInputTokens, toolLoop, stream: _stream, messages: _messages, ...fields } = (source['defaults'] ?? {}) as JsonObject
  return {
    fields,
    fallbacks: fallbacks as readonly string[] | undefined,
    maxInputTokens: maxInputTokens as number | undefined,
    toolLoop: parseToolLoop(toolLoop),
    answer: source['structured'] === true ? parseAnswer(id, source['returns']) : undefined
  }
}

function parseToolLoop (value: Json | undefined): ToolLoopSettings | undefined {
  if (value === undefined || value === false) return undefined
  const { tools, maxTurns } = (value === true ? {} : value) as { tools?: readonly string[], maxTurns?: number }
  return { tools, maxTurns: maxTurns ?? DEFAULT_MAX_TURNS }
}

function parseAnswer (id: string, returns: Json | undefined): AnswerSchema {
  if (returns === undefined || returns === null || Object.keys(returns).length === 0) {
    throw reject('RETURNS_INVALID', 'structured: true needs a JSON Schema in "returns"')
  }
  try {
    const { schema, compiled } = parseParameters(returns)
    // https://platform.openai.com/docs/api-reference/chat/create: at most 64 of these characters.
    const name = id.replace(/[^\w-]/g, '_').slice(-64)
    return { compiled, responseFormat: { type: 'json_schema', json_schema: { name, schema } } }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    throw reject('RETURNS_INVALID', `returns: ${error.message}`)
  }
}
