import { type Link } from '../../template/language.ts'
import { type ToolDefinition } from '../../tool/definition/definition.ts'
import { type RegisteredTool } from '../../tool/call/registered-tool.ts'
import { type CompiledText } from '../kinds/prompt/compile-prompt.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type Definition } from '../kinds/definition.ts'
import { type ExtensionDefinition, type ExtensionState } from '../kinds/extension/extension-definition.ts'
import { type KindAccess } from '../kinds/kind-access.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { type ReleaseRecord } from '../kinds/release/release-record.ts'

/** An extension as one generation shows it. */
export interface Extension {
  readonly id: string
  readonly definition: ExtensionDefinition
  readonly state: ExtensionState
  readonly diagnostics: readonly Diagnostic[]
}

/** A prompt as one generation runs it: every name resolved, or the reasons why it cannot run. */
export interface Prompt {
  readonly id: string
  readonly entry: PromptEntry
  /** Where it is a version: its number, and the label that it is linked under, if it is one. */
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** A hash of what is rendered and sent, of it and of the prompts it includes: the same on every replica. */
  readonly revision: string
  /** `invalid`: mistakes in its own text; `unlinked`: names that nothing registered answers to, or partials without an end. */
  readonly state: 'valid' | 'invalid' | 'unlinked'
  readonly diagnostics: readonly Diagnostic[]
  /** Those among the diagnostics that are about a name that nothing answers to, with all that was looked for. */
  readonly unfound: ReadonlyMap<Diagnostic, readonly Wanted[]>
  /** In the order of its entry's. */
  readonly texts: readonly LinkedText[]
  /** What its model may call; empty without a tool loop. */
  readonly loopTools: readonly CallableTool[]
}

/** A text whose template can run. */
export interface LinkedText extends Pick<CompiledText, 'where' | 'template'> {
  readonly links: readonly (Link | undefined)[]
}

/** A name that was looked for: a prompt by its id, a tool by its function. */
export interface Wanted { readonly kind: 'templates' | 'tools', readonly name: string }

/** A tool that templates can call. */
export type CallableTool = Pick<RegisteredTool, 'kind' | 'name' | 'id' | 'mapArguments' | 'definition' | 'statistics' | 'breakerState' | 'state'>

/** A tool as one generation shows it: registered, or offered by a registered MCP server. */
export interface Tool {
  readonly id: string
  readonly definition: ToolDefinition
  /** What is to be said of it now: where its module is changes without it. */
  diagnostics (): readonly Diagnostic[]
  /** Whether it has a key of its own; what a server offers has none. */
  readonly isRegistered: boolean
  /** `undefined` for an MCP server, which is no function itself. */
  readonly callable?: CallableTool
}

/**
 * What is stored under a name and cannot be used: of a tool by its function, of other kinds by its id. Unlike all else of a
 * generation it tells of now: a rejection makes none.
 */
export type FindRejected = (kind: KindAccess, name: string) => EntryProblem | undefined

/** A version as a label serves it: its partials are those of the label. */
export interface ReleasedVersion {
  readonly version: number
  /** Of 100. */
  readonly weight: number
  readonly prompt: Prompt
}

/** The releases of a prompt, as one generation serves them. */
export interface Release {
  readonly id: string
  readonly record: ReleaseRecord
  /** A hash of the record. */
  readonly hash: string
  /** The newest version with the content that is served where nobody says a label. */
  readonly latest: number | undefined
  /** The versions of each label, the newest first; none for a label whose version this process has never had. */
  readonly labels: ReadonlyMap<string, readonly ReleasedVersion[]>
}

/** What stands for itself, by the key of its kind and by id; `definitionsOf` gives them with their type. */
export type Definitions = ReadonlyMap<string, ReadonlyMap<string, Definition>>

/** Everything that is registered at one moment, but for the shared variables. Never changed: a request uses the one it began with. */
export interface Generation {
  /** Counts this process's generations. */
  readonly number: number
  /** A hash of all entries: the same on every replica that holds the same. */
  readonly revision: string
  readonly extensions: ReadonlyMap<string, Extension>
  readonly prompts: ReadonlyMap<string, Prompt>
  /** Prompts as partials find them; `prompts` may be a caller's part of them. */
  readonly everyPrompt: ReadonlyMap<string, Prompt>
  /** By id: `codebase.lookup_ref`. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly definitions: Definitions
  /** What labels of prompts mean, by the prompt's id. */
  readonly releases: ReadonlyMap<string, Release>
  /** What cannot be offered although it parses, such as the second of two tools with one function name. */
  readonly conflicts: readonly EntryProblem[]
  /** A hash of all entries of each kind that is read as a whole, by its key. */
  readonly revisions: ReadonlyMap<string, string>
  readonly findRejected: FindRejected
}
