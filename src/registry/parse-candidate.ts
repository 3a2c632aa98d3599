import { type Language } from '../template/language.ts'
import { type CompiledText } from './kinds/compile-prompt.ts'
import { type Diagnostic, RejectedEntry } from './diagnostic.ts'
import { type ExtensionDefinition, extensionKind, extensionParser } from './kinds/extension-kind.ts'
import { type PromptEntry, promptKind, templateParser } from './kinds/prompt-kind.ts'
import { bareNamesOf, type PromptParameters } from './kinds/prompt-parameters.ts'
import type { DefinitionKind, KindAccess, ToolUse } from './kinds/entry-kind.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { uncachedTemplates } from './entries/template-cache.ts'

/** Paths and references looked up; with more, none is. No honest candidate has so many. */
const MAX_NAMES = 20_000

export interface Candidate {
  readonly kind: KindAccess['key']
  readonly id: string
  readonly text: string
}

/** Plain data that one process can send to another. */
export interface ParsedCandidate {
  readonly diagnostics: readonly Diagnostic[]
  readonly extension?: ExtensionDefinition
  readonly prompts: readonly PlainPrompt[]
  readonly toolUses?: readonly ToolUse[]
  readonly broughtUses?: ReadonlyArray<{
    readonly kind: { readonly name: string, readonly noun: string },
    readonly id: string,
    readonly toolUses: readonly ToolUse[]
  }>
}

/** Plain data for another process; fields that are not listed here are dropped. */
type PlainPrompt = Pick<PromptEntry, 'id' | 'origin' | 'definition' | 'names' | 'pins' | 'diagnostics' | 'seenAt' | 'hash' | 'revision'> & {
  readonly compiled: Omit<PromptEntry['compiled'], 'texts'> & { readonly texts: readonly Omit<CompiledText, 'template'>[] }
  readonly parameters: Omit<PromptParameters, 'validate' | 'missingFrom' | 'bareNames'> | undefined
  readonly toolLoop: PromptEntry['chat']['toolLoop']
}

/** By the code that parses stored entries; stores nothing. */
export async function parseCandidate ({ kind, id, text }: Candidate, { languages, definitionKinds }: {
  readonly languages: readonly Language[]
  readonly definitionKinds: readonly DefinitionKind[]
}): Promise<ParsedCandidate> {
  const slices = createSlices()
  const compiler = uncachedTemplates(languages)
  try {
    if (kind === promptKind.key) return withinBounds({ diagnostics: [], prompts: [toPlain(await templateParser('', compiler).parse(id, text, slices))] })
    const definitionKind = definitionKinds.find(({ key }) => key === kind)
    if (definitionKind !== undefined) {
      const { diagnostics, toolUses = [] } = definitionKind.define(id, definitionKind.decode(text).value, 'direct')
      return { diagnostics, prompts: [], toolUses }
    }
    if (kind !== extensionKind.key) throw new Error(`candidates of the kind ${kind} cannot be parsed`)
    const { definition, diagnostics, prompts, definitions } = await extensionParser('', compiler, definitionKinds).parse(id, text, slices)
    const broughtUses = definitionKinds.flatMap(({ key, name, noun }) => (definitions.get(key) ?? []).map(({ id: brought, toolUses = [] }) => ({
      kind: { name, noun },
      id: brought,
      toolUses
    })))
    return { ...withinBounds({ diagnostics, extension: definition, prompts: prompts.map(toPlain) }), broughtUses }
  } catch (error) {
    if (error instanceof RejectedEntry) return { diagnostics: error.diagnostics, prompts: [] }
    throw error
  }
}

export function tooComplex (message: string, severity: Diagnostic['severity'] = 'error'): Diagnostic {
  return { severity, code: 'TOO_COMPLEX', message }
}

/** The entry can neither be rendered nor sent to a model. */
export function fromPlain ({ compiled, parameters, toolLoop, ...rest }: PlainPrompt): PromptEntry {
  const template = () => { throw new Error('a candidate is not rendered') }
  return {
    ...rest,
    compiled: { ...compiled, texts: compiled.texts.map(text => ({ ...text, template })) },
    parameters: parameters === undefined
      ? undefined
      : { ...parameters, bareNames: bareNamesOf(parameters.schema, parameters.names), validate: () => [], missingFrom: () => [] },
    chat: { fields: {}, fallbacks: undefined, maxInputTokens: undefined, toolLoop, answer: undefined }
  }
}

function toPlain ({ id, origin, definition, names, pins, diagnostics, seenAt, hash, revision, compiled, parameters, chat }: PromptEntry): PlainPrompt {
  return {
    id,
    origin,
    definition,
    names,
    pins,
    diagnostics,
    seenAt,
    hash,
    revision,
    compiled: {
      syntax: compiled.syntax,
      diagnostics: compiled.diagnostics,
      texts: compiled.texts.map(text => {
        const { where, references, paths, hasMorePaths, unreachable, failing } = text
        return { where, references, paths, hasMorePaths, unreachable, failing }
      })
    },
    parameters: parameters === undefined
      ? undefined
      : {
          names: parameters.names,
          defaults: parameters.defaults,
          required: parameters.required,
          schema: parameters.schema,
          wrongDefaults: parameters.wrongDefaults
        },
    toolLoop: chat.toolLoop
  }
}

function withinBounds (parsed: ParsedCandidate): ParsedCandidate {
  const names = parsed.prompts.flatMap(({ compiled }) => compiled.texts).reduce((sum, { paths, references }) => sum + paths.length + references.length, 0)
  if (names <= MAX_NAMES) return parsed
  const given = parsed.extension === undefined ? parsed.prompts.flatMap(({ diagnostics }) => diagnostics) : parsed.diagnostics
  return { diagnostics: [...given, tooComplex(`it has more than ${MAX_NAMES} names, which were not looked up`, 'warning')], prompts: [] }
}
