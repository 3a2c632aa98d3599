import { type LinkedPartial, type Link, type Reference } from '../template/language.ts'
import { keyToFunction } from '../store/keys.ts'
import { ScopeRoot } from '../template/scope.ts'
import { contentHash } from '../json.ts'
import { isSound, type PromptEntry } from './prompt-entry.ts'
import { type Diagnostic } from './diagnostic.ts'
import { type CallableTool, type LinkedMessage, type Prompt } from './generation.ts'

/** Prompts by id, as the prompt `from` finds them in its text. */
interface Entries { get (id: string, from: PromptEntry): PromptEntry | undefined }
type Tools = Pick<ReadonlyMap<string, CallableTool>, 'get'>

/**
 * Resolves every name of every prompt for one generation (rendering.md, Partials): a tool or partial that is not there
 * makes the prompts that need it unlinked, and leaves the others alone.
 *
 * @param entries prompts in force by id
 * @param tools by function name
 */
export function linkPrompts (entries: ReadonlyMap<string, PromptEntry>, tools: Tools): Map<string, Prompt> {
  const linker = new Linker(entries, tools)
  const prompts = new Map<string, Prompt>()
  for (const entry of entries.values()) prompts.set(entry.id, linker.link(entry))
  return prompts
}

/** A prompt's links and what could not be resolved among its own names. */
interface Resolution {
  readonly messages: readonly LinkedMessage[]
  readonly includes: ReadonlySet<PromptEntry>
  readonly problems: readonly Diagnostic[]
}

/** Resolves the names of prompts one by one, against whatever prompts and tools it is given. */
export class Linker {
  readonly #entries: Entries
  readonly #tools: Tools
  readonly #resolutions = new Map<PromptEntry, Resolution>()
  readonly #partials = new Map<PromptEntry, LinkedPartial>()

  constructor (entries: Entries, tools: Tools) {
    this.#entries = entries
    this.#tools = tools
  }

  /** A prompt with its names resolved, or the reasons why it cannot run. */
  link (entry: PromptEntry): Prompt {
    const common = { id: entry.id, entry }
    if (!isSound(entry)) return { ...common, state: 'invalid', revision: entry.hash, diagnostics: entry.diagnostics, messages: [], loopTools: [] }
    const { messages, problems } = this.#resolve(entry)
    const included = this.#closure(entry)
    const { tools: loopTools, problems: loopProblems } = this.#findLoopTools(entry, included)
    const all = [...problems, ...loopProblems, ...included.flatMap(each => this.#resolve(each).problems.map(problem => ofPartial(each.id, problem)))]
    return {
      ...common,
      state: all.length > 0 ? 'unlinked' : 'valid',
      revision: included.length === 0 ? entry.hash : contentHash([entry.hash, ...included.map(each => each.hash).sort()]),
      diagnostics: [...entry.diagnostics, ...all],
      messages,
      loopTools
    }
  }

  /** The tools that the prompt names for its model, or else all that its templates and partials refer to. */
  #findLoopTools (entry: PromptEntry, included: readonly PromptEntry[]): { tools: CallableTool[], problems: Diagnostic[] } {
    const { toolLoop } = entry.chat
    if (toolLoop === undefined) return { tools: [], problems: [] }
    const referred = [entry, ...included].flatMap(each => each.compiled.messages).flatMap(message => message.references).filter(reference => !isPartial(reference))
    const names = toolLoop.tools ?? referred.map(reference => reference.name)
    const found = names.map(name => this.#tools.get(toFunctionName(name)))
    const problems = (toolLoop.tools ?? []).filter((_, index) => found[index] === undefined).map(unknownLoopTool)
    return { tools: [...new Set(found.filter(tool => tool !== undefined))], problems }
  }

  #resolve (entry: PromptEntry): Resolution {
    const known = this.#resolutions.get(entry)
    if (known !== undefined) return known
    const includes = new Set<PromptEntry>()
    const problems: Diagnostic[] = []
    const messages = entry.compiled.messages.map((message, messageIndex): LinkedMessage => {
      const links = message.references.map(reference => {
        const link = isPartial(reference) ? this.#findPartial(entry, reference, includes) : this.#tools.get(reference.name)
        if (typeof link === 'object') return link
        if (!isOptional(reference)) problems.push(unresolved(reference, link, entry.compiled.messages.length > 1 ? messageIndex : undefined))
        return undefined
      })
      const { role, rest } = entry.definition.messages[messageIndex] ?? { role: 'user', rest: {} }
      return { role, rest, template: message.template, links }
    })
    const resolution = { messages, includes, problems }
    this.#resolutions.set(entry, resolution)
    return resolution
  }

  /** A prompt of the same extension first, then a full id; a text says why it cannot be used. */
  #findPartial (from: PromptEntry, reference: Reference, includes: Set<PromptEntry>): Link | string {
    const id = reference.name.replaceAll(':', '.')
    const sibling = `${from.id.slice(0, from.id.lastIndexOf('.') + 1)}${id}`
    const found = this.#entries.get(sibling, from) ?? this.#entries.get(id, from)
    if (found === undefined) return `partial "${reference.name}" is not registered`
    if (!isSound(found)) return `partial "${found.id}" is invalid`
    if (found.compiled.messages.length !== 1) return `partial "${found.id}" has more than one message`
    includes.add(found)
    return this.#partialOf(found)
  }

  /** One link per partial, whoever uses it; its own links are resolved when they are first read, since partials may include each other. */
  #partialOf (entry: PromptEntry): LinkedPartial {
    const known = this.#partials.get(entry)
    if (known !== undefined) return known
    const resolve = () => this.#resolve(entry).messages[0] as LinkedMessage
    const partial: LinkedPartial = {
      kind: 'partial',
      id: entry.id,
      template: explain => resolve().template(explain),
      get links () { return resolve().links },
      root: outer => outer instanceof ScopeRoot ? outer.forPartial(entry.parameters?.defaults ?? {}, entry.parameters?.names) : outer
    }
    this.#partials.set(entry, partial)
    return partial
  }

  /** Every prompt that a prompt includes, directly or not, without itself. */
  #closure (entry: PromptEntry): PromptEntry[] {
    const found = new Set<PromptEntry>()
    const queue = [...this.#resolve(entry).includes]
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (found.has(next)) continue
      found.add(next)
      queue.push(...this.#resolve(next).includes)
    }
    found.delete(entry)
    return [...found]
  }
}

/** A tool is named by its id or by its function. */
function toFunctionName (name: string): string {
  return keyToFunction(name, '')
}

function unknownLoopTool (name: string): Diagnostic {
  return { severity: 'error', code: 'TOOL_UNKNOWN', message: `toolLoop names "${name}", which is no registered tool`, hint: 'register the tool, or correct the name' }
}

function unresolved (reference: Reference, reason: string | undefined, messageIndex: number | undefined): Diagnostic {
  return {
    severity: 'error',
    code: isPartial(reference) ? 'PARTIAL_UNKNOWN' : 'FUNCTION_UNKNOWN',
    message: reason ?? `function "${reference.name}" is no builtin and no registered tool`,
    ...(messageIndex === undefined ? {} : { messageIndex }),
    line: reference.line,
    column: reference.column,
    hint: isPartial(reference) ? 'register a prompt of that id with one text' : 'register the tool, or correct the name'
  }
}

function isPartial ({ kind }: Reference): boolean {
  return kind === 'partial' || kind === 'maybe-partial'
}

function isOptional ({ kind }: Reference): boolean {
  return kind === 'maybe-function' || kind === 'maybe-partial'
}

function ofPartial (id: string, problem: Diagnostic): Diagnostic {
  const { messageIndex: _, ...rest } = problem
  return { ...rest, message: `in partial "${id}": ${problem.message}` }
}
