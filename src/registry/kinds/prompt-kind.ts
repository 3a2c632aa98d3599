import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import type { Slices } from '../../runtime/event-loop.ts'
import { keyToPath } from '../../store/store.ts'
import { parseParameters } from '../../tool/parameters.ts'
import { type CompiledSchema, SchemaError } from '../../schema/compile.ts'
import { type Diagnostic, reject } from '../diagnostic.ts'
import type { EntryParser } from '../entries/entry-table.ts'
import type { TemplateCache } from '../entries/template-cache.ts'
import { checkPromptId, namesIn } from '../link/references.ts'
import { asPromptObject, decodeTemplate, type EntryKind } from './entry-kind.ts'
import { type CompiledPrompt, compilePrompt } from './compile-prompt.ts'
import { lintName, lintPromptDefinition, parsePromptDefinition, type PromptDefinition } from './prompt-definition.ts'
import { parsePromptParameters, type PromptParameters } from './prompt-parameters.ts'

/** Stored under `shenma:templates:*`; an extension's prompts are part of its entry instead. */
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

/** Parses `shenma:templates:*`; the id comes from the key. */
export function templateParser (prefix: string, cache: TemplateCache): EntryParser<PromptEntry> {
  return {
    nameOf: key => keyToPath(key, prefix),
    parse: async (key, text, slices) => await parsePromptEntry(keyToPath(key, prefix), 'direct', decodeTemplate(text).value, cache, slices),
    isSound,
    isUsable: isSound,
    diagnostics: entry => entry.diagnostics
  }
}

export interface PromptEntry {
  readonly id: string
  readonly origin: 'direct' | 'extension'
  readonly version?: number
  readonly definition: PromptDefinition
  readonly parameters: PromptParameters | undefined
  readonly chat: PromptChat
  readonly compiled: CompiledPrompt
  /** Of partials and tools. */
  readonly names: readonly string[]
  /** Those with a label or a version (`system@7`). */
  readonly pins: readonly string[]
  readonly diagnostics: readonly Diagnostic[]
  /** In ms, `Date.now()`; stays until the entry changes, because an unchanged entry is not read again. */
  readonly seenAt: number
  readonly hash: string
  /** Of what is rendered and sent to a model, so that a caller who insists on a revision still gets it after a change of the owner. */
  readonly revision: string
}

/** These decide the revision; `description`, `supports` and a publisher's own fields do not. */
const PINNED = ['syntax', 'messages', 'userPrompt', 'prompt', 'parameters', 'returns', 'structured', 'defaults']

/** @throws RejectedEntry when it cannot be used at all; a syntax error is a diagnostic instead */
export async function parsePromptEntry (id: string, origin: PromptEntry['origin'], value: Json, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  checkPromptId(id)
  const definition = parsePromptDefinition(value)
  const parameters = parsePromptParameters(definition.parameters)
  const compiled = await compilePrompt(definition, parameters?.names, cache, slices)
  const chat = parsePromptChat(id, definition.source)
  const names = namesIn(id, compiled.texts, chat.toolLoop?.tools)
  return {
    id,
    origin,
    definition,
    parameters,
    chat,
    compiled,
    names,
    pins: names.filter(name => name.includes('@')),
    diagnostics: [...lintPromptDefinition(definition), ...lintName(id, definition), ...compiled.diagnostics],
    seenAt: Date.now(),
    hash: contentHash(definition.source),
    revision: contentHash(Object.fromEntries(Object.entries(definition.source).filter(([field]) => PINNED.includes(field))))
  }
}

/** A prompt that is only a picture has no templates, and is sound. */
export function isSound ({ compiled, definition }: PromptEntry): boolean {
  return compiled.texts.length === definition.texts.length
}

interface PromptChat {
  /** The caller's own fields override them. */
  readonly fields: JsonObject
  /** These models replace the operator's when the prompt's first model fails. */
  readonly fallbacks: readonly string[] | undefined
  /** In estimated tokens; above it the chat is refused, and the model is not asked. */
  readonly maxInputTokens: number | undefined
  /** `undefined` when the service offers the model no tools. */
  readonly toolLoop: {
    /** Ids or function names; `undefined` for the tools in the prompt's own templates. */
    readonly tools: readonly string[] | undefined
    /** In the last call the model is told to answer without tools. */
    readonly maxTurns: number
  } | undefined
  /** The schema is `undefined` when any answer will do. */
  readonly answer: AnswerSchema | undefined
}

export interface AnswerSchema {
  readonly responseFormat: JsonObject
  readonly compiled: CompiledSchema
}

const DEFAULT_MAX_TURNS = 5

/** `id` names the answer's schema. @throws RejectedEntry when `structured` is asked for and `returns` is no schema */
function parsePromptChat (id: string, source: JsonObject): PromptChat {
  // The caller, who reads the answer, decides about `stream`; messages come from the templates.
  const { fallbacks, maxInputTokens, toolLoop, stream: _stream, messages: _messages, ...fields } = (source['defaults'] ?? {}) as JsonObject
  return {
    fields,
    fallbacks: fallbacks as readonly string[] | undefined,
    maxInputTokens: maxInputTokens as number | undefined,
    toolLoop: parseToolLoop(toolLoop),
    answer: source['structured'] === true ? parseAnswer(id, source['returns']) : undefined
  }
}

function parseToolLoop (value: Json | undefined) {
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
