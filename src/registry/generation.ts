import { type Link } from '../template/language.ts'
import { type ToolDefinition } from '../tool/definition.ts'
import { type RegisteredTool } from '../tool/registered-tool.ts'
import { type CompiledText } from './kinds/compile-prompt.ts'
import { type Diagnostic } from './diagnostic.ts'
import { type EntryProblem } from './entries/entry-table.ts'
import type { Definition, KindAccess } from './kinds/entry-kind.ts'
import { type ExtensionDefinition, type ExtensionState } from './kinds/extension-kind.ts'
import { type PromptEntry } from './kinds/prompt-kind.ts'
import { type ReleaseRecord } from './kinds/release-record.ts'

/** An extension (a package of prompts and other entries) in a generation, with its state. */
export interface Extension {
  readonly id: string
  readonly definition: ExtensionDefinition
  readonly state: ExtensionState
  readonly diagnostics: readonly Diagnostic[]
}

/** A prompt in a `Generation`. Every name in the prompt's texts is resolved, or the diagnostics say why the prompt cannot be rendered. */
export interface Prompt {
  readonly id: string
  readonly entry: PromptEntry
  /** The number of the version, for a prompt that is a stored version; `label` is the label (`production`) under which the version is served, if any. */
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** A hash of what is rendered and sent to a model: of this prompt and of all prompts that it includes. It is equal on every replica. */
  readonly revision: string
  /**
   * Whether the prompt can be rendered. `invalid`: its own text has mistakes. `unlinked`: it names something that is not registered, or its partials
   * include each other without end.
   */
  readonly state: 'valid' | 'invalid' | 'unlinked'
  readonly diagnostics: readonly Diagnostic[]
  /** The diagnostics about names that are not registered, each with the names that were looked up and not found. */
  readonly unfound: ReadonlyMap<Diagnostic, readonly RequestedName[]>
  /** The texts of the prompt (its messages, for example), each with what its names stand for, in the order in which the author wrote them. */
  readonly texts: readonly LinkedText[]
  /** The tools that the prompt's model is allowed to call; empty when the prompt lets its model call none. */
  readonly loopTools: readonly CallableTool[]
}

/** One text of a prompt with its compiled template, and with the tools and partials that the template's names stand for. */
export interface LinkedText extends Pick<CompiledText, 'where' | 'template'> {
  readonly links: readonly (Link | undefined)[]
}

/** A name that was looked up in the registry: that of a prompt (its id), or that of a tool (its function name). */
export interface RequestedName { readonly kind: 'templates' | 'tools', readonly name: string }

/** A tool that templates can call. */
export type CallableTool = Pick<RegisteredTool, 'kind' | 'name' | 'id' | 'mapArguments' | 'definition' | 'statistics' | 'breakerState' | 'state'>

/** A tool in a generation: a registered one, or one that a registered MCP server offers. */
export interface Tool {
  readonly id: string
  readonly definition: ToolDefinition
  /** Gives the diagnostics of the tool at this moment. They depend on the address of the program that offers the tool, which can change meanwhile. */
  diagnostics (): readonly Diagnostic[]
  /** Whether the tool has a key of its own; a tool that an MCP server offers has none. */
  readonly isRegistered: boolean
  /** The function that templates call; `undefined` for the registration of an MCP server, which offers functions and is none itself. */
  readonly callable?: CallableTool
}

/**
 * Finds the rejected entry that is stored under a name (a tool by its function name, an entry of another kind by its id); `undefined` when there is
 * none. The rest of a generation never changes, but this function looks at the registry as it is now, because a rejection makes no new generation.
 */
export type FindRejected = (kind: KindAccess, name: string) => EntryProblem | undefined

/** A version of a prompt as it is served under a label such as `production`. Prompts that it includes are taken from the same label, if they have it. */
export interface ReleasedVersion {
  readonly version: number
  /** The share of callers who get the version, in percent. */
  readonly weight: number
  readonly prompt: Prompt
}

/** The numbered versions of one prompt in a `Generation`, and which of them each label (`production`) stands for. */
export interface PromptRelease {
  readonly id: string
  readonly record: ReleaseRecord
  /** A hash of `record`, the stored list of the prompt's versions and labels. */
  readonly hash: string
  /** The number of the newest version whose content equals the prompt that is served without a label; `undefined` when no version's content does. */
  readonly latest: number | undefined
  /** The versions that each label serves, the newest first. The list is empty for a label whose versions this process has never been able to read. */
  readonly labels: ReadonlyMap<string, readonly ReleasedVersion[]>
}

/**
 * The agents, skills and plan profiles of a generation, by the key of their kind and then by id. `definitionsOf` gives the definitions of one kind
 * with their exact type.
 */
export type Definitions = ReadonlyMap<string, ReadonlyMap<string, Definition>>

/**
 * An immutable snapshot of everything that is registered at one moment, except the shared variables. When entries have changed, a new generation is
 * made. A request uses to its end the generation that was there when the request began.
 */
export interface Generation {
  /** The number of the generation. Each process counts its own generations. */
  readonly number: number
  /** A hash of all entries, equal on every replica that has the same entries. */
  readonly revision: string
  readonly extensions: ReadonlyMap<string, Extension>
  readonly prompts: ReadonlyMap<string, Prompt>
  /** All prompts. Partials are looked up among these. In a view for one caller, `prompts` has only those that the caller is allowed to see. */
  readonly everyPrompt: ReadonlyMap<string, Prompt>
  /** The tools by id: `codebase.lookup_ref`. */
  readonly tools: ReadonlyMap<string, Tool>
  readonly definitions: Definitions
  /** Which versions of a prompt its labels stand for, by the prompt's id. */
  readonly releases: ReadonlyMap<string, PromptRelease>
  /** Valid entries that callers cannot use, because another entry has the same id or function name. */
  readonly conflicts: readonly EntryProblem[]
  /** For each kind whose values are read at start, by the kind's key (`tools`): a hash of all its entries. */
  readonly revisions: ReadonlyMap<string, string>
  readonly findRejected: FindRejected
}
