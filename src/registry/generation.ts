import { type Link } from '../template/language.ts'
import { type ToolDefinition } from '../tool/definition.ts'
import { type RegisteredTool } from '../tool/registered-tool.ts'
import { type CompiledText } from './kinds/compile-prompt.ts'
import { type Diagnostic } from './diagnostic.ts'
import { type EntryProblem } from './entries/entry-table.ts'
import type { Definition, KindAccess } from './kinds/entry-kind.ts'
import { type ExtensionDefinition } from './kinds/extension-kind.ts'
import { type PromptEntry } from './kinds/prompt-kind.ts'
import { type ReleaseRecord } from './kinds/release-record.ts'
import { type PromptNames } from './link/versions.ts'

export interface Extension {
  readonly id: string
  readonly definition: ExtensionDefinition
  /** `degraded`: a needed extension is missing. `incompatible` and `inactive` (unknown type) extensions cannot be used. */
  readonly state: 'active' | 'degraded' | 'incompatible' | 'inactive'
  readonly diagnostics: readonly Diagnostic[]
}

/** Every name in it is resolved, or the diagnostics say why it cannot be rendered. */
export interface Prompt {
  readonly id: string
  readonly entry: PromptEntry
  /** For a stored version; `label` is the one under which it is served, if any. */
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** Of what is rendered and sent to a model, with all included prompts; equal on every replica. */
  readonly revision: string
  /** `invalid`: its own text has mistakes. `unlinked`: a name is not registered, or its partials include each other without end. */
  readonly state: 'valid' | 'invalid' | 'unlinked'
  readonly diagnostics: readonly Diagnostic[]
  readonly unfound: ReadonlyMap<Diagnostic, readonly RequestedName[]>
  readonly texts: readonly LinkedText[]
  /** The list is empty when the model may call no tools. */
  readonly loopTools: readonly CallableTool[]
}

export interface LinkedText extends Pick<CompiledText, 'where' | 'template'> {
  readonly links: readonly (Link | undefined)[]
}

export interface RequestedName { readonly kind: 'templates' | 'tools', readonly name: string }

export type CallableTool = Pick<RegisteredTool, 'kind' | 'name' | 'id' | 'mapArguments' | 'definition' | 'statistics' | 'breakerState' | 'state'>

export interface Tool {
  readonly id: string
  readonly definition: ToolDefinition
  /** They depend on the address of the tool's program, which can change meanwhile. */
  diagnostics (): readonly Diagnostic[]
  /** A tool that an MCP server offers has no key of its own. */
  readonly isRegistered: boolean
  /** An MCP server's registration has none: it offers functions and is none itself. */
  readonly callable?: CallableTool
}

/** By a tool's function name or an entry's id. Looks at the registry as it is now, because a rejection makes no new generation. */
export type FindRejected = (kind: KindAccess, name: string) => EntryProblem | undefined

/** Prompts that it includes are taken from the same label, if they have it. */
export interface ReleasedVersion {
  readonly version: number
  /** Share of callers, in percent. */
  readonly weight: number
  readonly prompt: Prompt
}

export interface PromptRelease {
  readonly id: string
  readonly record: ReleaseRecord
  readonly hash: string
  /** The newest version that equals the prompt served without a label; `undefined` when none does. */
  readonly latest: number | undefined
  /** Newest first; empty for a label whose versions this process has never been able to read. */
  readonly labels: ReadonlyMap<string, readonly ReleasedVersion[]>
}

/** An immutable snapshot of all entries but shared variables. A request uses to its end the one that was there when it began. */
export interface Generation {
  readonly number: number
  /** Of all entries; equal on every replica that has the same entries. */
  readonly revision: string
  readonly extensions: ReadonlyMap<string, Extension>
  readonly names: PromptNames
  /** Linked when they are first asked for, so whoever looks at all of them does it in slices. */
  readonly prompts: ReadonlyMap<string, Prompt>
  /** Partials are looked up here; in a view for one caller, `prompts` has only those that the caller may see. */
  readonly everyPrompt: ReadonlyMap<string, Prompt>
  readonly tools: ReadonlyMap<string, Tool>
  /** By function name. */
  readonly functions: ReadonlyMap<string, CallableTool>
  /** By the key of their kind, then by id; `definitionsOf` gives the exact type. */
  readonly definitions: ReadonlyMap<string, ReadonlyMap<string, Definition>>
  readonly releases: ReadonlyMap<string, PromptRelease>
  /** These entries are valid, but another one has the same id or function name. */
  readonly conflicts: readonly EntryProblem[]
  /** By the key of each kind whose values are read at start. */
  readonly revisions: ReadonlyMap<string, string>
  readonly findRejected: FindRejected
}
