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
  /** The number of the version, for a prompt that is a version; `label` is the label under which it is linked, if any. */
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** A hash of what is rendered and sent, of this prompt and of the prompts that it includes: equal on every replica. */
  readonly revision: string
  /** `invalid`: mistakes in its own text; `unlinked`: names that nothing registered answers to, or partials without an end. */
  readonly state: 'valid' | 'invalid' | 'unlinked'
  readonly diagnostics: readonly Diagnostic[]
  /** The diagnostics of names that nothing registered answers to, each with all that was looked up for the name. */
  readonly unfound: ReadonlyMap<Diagnostic, readonly Wanted[]>
  /** The linked texts, in the order of the entry's texts. */
  readonly texts: readonly LinkedText[]
  /** The tools that the prompt's model may call; empty without a tool loop. */
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
  /** The diagnostics of the tool at this moment: the place of its module can change while the tool does not. */
  diagnostics (): readonly Diagnostic[]
  /** Whether the tool has a key of its own; a tool that an MCP server offers has none. */
  readonly isRegistered: boolean
  /** What templates call; `undefined` for an MCP server, which is no function itself. */
  readonly callable?: CallableTool
}

/**
 * Finds the rejected entry that is stored under a name: a tool by its function name, other kinds by their id. Unlike the rest of a
 * generation it tells of the present moment, because a rejection makes no new generation.
 */
export type FindRejected = (kind: KindAccess, name: string) => EntryProblem | undefined

/** A version as a label serves it: its partials are taken from the same label. */
export interface ReleasedVersion {
  readonly version: number
  /** The share of the version in percent. */
  readonly weight: number
  readonly prompt: Prompt
}

/** The releases of a prompt, as one generation serves them. */
export interface Release {
  readonly id: string
  readonly record: ReleaseRecord
  /** A hash of the release record. */
  readonly hash: string
  /** The newest version whose content is the one that is served without a label. */
  readonly latest: number | undefined
  /** The versions of each label, the newest first; none for a label whose version this process has never had. */
  readonly labels: ReadonlyMap<string, readonly ReleasedVersion[]>
}

/** The definitions of all kinds, by the key of their kind and by id; `definitionsOf` gives them with their type. */
export type Definitions = ReadonlyMap<string, ReadonlyMap<string, Definition>>

/** Everything that is registered at one moment, except the shared variables. A generation never changes: a request uses the one it began with. */
export interface Generation {
  /** The number of the generation, counted in this process. */
  readonly number: number
  /** A hash of all entries: equal on every replica that holds the same entries. */
  readonly revision: string
  readonly extensions: ReadonlyMap<string, Extension>
  readonly prompts: ReadonlyMap<string, Prompt>
  /** All prompts, for looking partials up; `prompts` may be only the part that a caller may see. */
  readonly everyPrompt: ReadonlyMap<string, Prompt>
  /** The tools by id: `codebase.lookup_ref`. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly definitions: Definitions
  /** The versions that labels of prompts mean, by the prompt's id. */
  readonly releases: ReadonlyMap<string, Release>
  /** Entries that parse and still cannot be offered, such as the second of two tools with one function name. */
  readonly conflicts: readonly EntryProblem[]
  /** A hash of all entries of a kind, for each kind that is read as a whole, by the kind's key. */
  readonly revisions: ReadonlyMap<string, string>
  readonly findRejected: FindRejected
}
