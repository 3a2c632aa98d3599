import type { TextName } from '../../base/errors.ts'
import { contentHash } from '../../base/json.ts'
import { isNearly } from '../../base/near-matches.ts'
import { FORMS } from '../../template/function-forms.ts'
import { FUNCTIONS, LANGUAGE_WORDS } from '../../template/functions.ts'
import type { Link, LinkedPartial, Reference, Syntax } from '../../template/language.ts'
import { RESERVED_NAMES, ScopeRoot } from '../../template/scope.ts'
import type { LazyNode } from '../../template/value.ts'
import { type Diagnostic, ifMisjudged, LANGUAGE_NAMES } from '../diagnostic.ts'
import type { CallableTool, LinkedText, Prompt, RequestedName } from '../generation.ts'
import { isSound, type PromptEntry } from '../kinds/prompt-kind.ts'
import { idsMeant, isOptional, isPartial, toFunctionName } from './references.ts'

/** `from` is the prompt that names it. */
type FindPrompt = (name: string, from: PromptEntry) => PromptEntry | undefined

export type PartialText = Pick<Prompt, 'id' | 'entry' | 'texts'>

export interface PromptPartial extends LinkedPartial {
  readonly prompt: PartialText
}

export function isPromptPartial (link: Link): link is PromptPartial {
  return link.kind === 'partial' && 'prompt' in link
}

interface Resolution {
  readonly texts: readonly LinkedText[]
  readonly includes: readonly Inclusion[]
  readonly problems: readonly Problem[]
}

const NONE_UNFOUND: Prompt['unfound'] = new Map()

/** A class: literals with getters get a hidden class for each object (https://v8.dev/docs/hidden-classes). */
class PartialPrompt implements PromptPartial, PartialText {
  readonly kind = 'partial'
  readonly id: string
  readonly entry: PromptEntry
  readonly #resolve: () => readonly LinkedText[]
  #texts: readonly LinkedText[] | undefined

  /** Resolved when first asked for, since partials can include each other. */
  constructor (entry: PromptEntry, resolve: () => readonly LinkedText[]) {
    this.id = nameOf(entry)
    this.entry = entry
    this.#resolve = resolve
  }

  get prompt (): PartialText {
    return this
  }

  get texts (): readonly LinkedText[] {
    this.#texts ??= this.#resolve()
    return this.#texts
  }

  get links (): LinkedText['links'] {
    return this.#first.links
  }

  template (explain: boolean): ReturnType<LinkedPartial['template']> {
    return this.#first.template(explain)
  }

  root (outer: LazyNode): LazyNode {
    const { parameters } = this.entry
    return outer instanceof ScopeRoot ? outer.forPartial(parameters?.defaults ?? {}, parameters?.bareNames) : outer
  }

  get #first (): LinkedText {
    return this.texts[0] as LinkedText
  }
}

/** Missing names make only the prompts that need them `unlinked`. What names mean must not change while it is used. */
export class Linker {
  readonly #find: FindPrompt
  readonly #functions: ReadonlyMap<string, CallableTool>
  readonly #resolutions = new Map<PromptEntry, Resolution>()
  readonly #partials = new Map<PromptEntry, PromptPartial>()

  constructor (find: FindPrompt, functions: ReadonlyMap<string, CallableTool>) {
    this.#find = find
    this.#functions = functions
  }

  link (entry: PromptEntry, label?: string): Prompt {
    const { id, version } = entry
    if (!isSound(entry)) {
      return {
        id,
        entry,
        version,
        label,
        state: 'invalid',
        revision: entry.revision,
        diagnostics: entry.diagnostics,
        unfound: NONE_UNFOUND,
        texts: [],
        loopTools: []
      }
    }
    const { texts, problems } = this.#resolve(entry)
    const included = this.#closure(entry)
    const { tools: loopTools, problems: loopProblems } = this.#findLoopTools(entry, included)
    const all = [...problems, ...loopProblems, ...included.flatMap(each => this.#problemsOf(each, entry)), ...this.#findCycle(entry)]
    // Written out for one hidden class: with a spread V8 would take ten times as long.
    return {
      id,
      entry,
      version,
      label,
      state: all.length > 0 ? 'unlinked' : 'valid',
      revision: included.length === 0 ? entry.revision : contentHash([entry.revision, ...included.map(each => each.revision).sort()]),
      // Prompts without problems, nearly all, share the collections, which saves memory.
      diagnostics: all.length === 0 ? entry.diagnostics : [...entry.diagnostics, ...all.map(({ diagnostic }) => diagnostic)],
      unfound: all.length === 0 ? NONE_UNFOUND : new Map(all.map(({ diagnostic, wanted }) => [diagnostic, wanted])),
      texts,
      loopTools
    }
  }

  /** A missing name is left out when every chain of inclusions defines it as an inline partial. */
  #problemsOf (partial: PromptEntry, outer: PromptEntry): Problem[] {
    return this.#resolve(partial).problems
      .filter(problem => problem.partial === undefined || !isAlwaysGiven(problem.partial, outer, partial, each => this.#resolve(each).includes))
      .map(problem => ofPartial(nameOf(partial), problem))
  }

  /** The way to the prompt that closes the circle. Without recursion: a chain of partials can be as long as the registry. */
  #findCycle (entry: PromptEntry): Problem[] {
    const way = [{ entry, rest: this.#certain(entry) }]
    const [onWay, seen] = [new Set([entry]), new Set([entry])]
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const next = last.rest.shift()
      if (next === undefined) {
        way.pop()
        onWay.delete(last.entry)
      } else if (onWay.has(next.entry)) {
        const circle = [...way.map(each => each.entry), next.entry]
        return this.#certain(entry).filter(each => each.entry === circle[1]).slice(0, 1).map(first => endless(circle, first))
      } else if (!seen.has(next.entry)) {
        seen.add(next.entry)
        onWay.add(next.entry)
        way.push({ entry: next.entry, rest: this.#certain(next.entry) })
      }
    }
    return []
  }

  /** Included in every render; with only these in a circle, no render would end. */
  #certain (entry: PromptEntry): Inclusion[] {
    return this.#resolve(entry).includes.filter(isCertain)
  }

  #findLoopTools (entry: PromptEntry, included: readonly PromptEntry[]): { tools: CallableTool[], problems: Problem[] } {
    const { toolLoop } = entry.chat
    if (toolLoop === undefined) return { tools: [], problems: [] }
    const texts = [entry, ...included].flatMap(each => each.compiled.texts)
    const referred = texts.flatMap(({ references }) => references).filter(reference => !isPartial(reference))
    const names = toolLoop.tools ?? referred.map(reference => reference.name)
    const found = names.map(name => this.#functions.get(toFunctionName(name)))
    const problems = (toolLoop.tools ?? []).filter((_, index) => found[index] === undefined).map(unknownLoopTool)
    return { tools: [...new Set(found.filter(tool => tool !== undefined))], problems }
  }

  #resolve (entry: PromptEntry): Resolution {
    const known = this.#resolutions.get(entry)
    if (known !== undefined) return known
    const [includes, problems]: [Inclusion[], Problem[]] = [[], []]
    const texts = entry.compiled.texts.map(({ where, references, template }): LinkedText => {
      const links = references.map(reference => {
        const link = isPartial(reference) ? this.#findPartial(entry, reference, where, includes) : this.#functions.get(reference.name)
        if (typeof link === 'object') return link
        if (!isOptional(reference)) problems.push(unresolved(entry, reference, link, where))
        return undefined
      })
      return { where, template, links }
    })
    const resolution = { texts, includes, problems }
    this.#resolutions.set(entry, resolution)
    return resolution
  }

  /** First in the same module or extension, then by the whole name. Gives a reason in words when the prompt cannot be a partial. */
  #findPartial (from: PromptEntry, reference: Reference, where: Inclusion['where'], includes: Inclusion[]): Link | string | undefined {
    const [sibling, full] = idsMeant(from.id, reference.name)
    const found = this.#find(sibling, from) ?? this.#find(full, from)
    if (found === undefined) return undefined
    if (!isSound(found)) return `partial "${nameOf(found)}" is invalid`
    // A role in a partial of Dotprompt would begin a message, but messages are cut when the outer file is read.
    if (found.definition.form === 'messages' && Object.hasOwn(found.definition.source, 'x-dotprompt')) {
      return `partial "${nameOf(found)}" begins a message by {{role}}, {{history}} or {{media}}, which only the prompt itself can`
    }
    if (found.definition.messages.length !== 1) return `partial "${nameOf(found)}" has more than one message`
    if (found.definition.messages[0]?.kind !== 'text') return `partial "${nameOf(found)}" is no text, but parts`
    includes.push({ entry: found, reference, where })
    return this.#partialOf(found)
  }

  #partialOf (entry: PromptEntry): PromptPartial {
    const known = this.#partials.get(entry)
    if (known !== undefined) return known
    const partial = new PartialPrompt(entry, () => this.#resolve(entry).texts)
    this.#partials.set(entry, partial)
    return partial
  }

  #closure (entry: PromptEntry): PromptEntry[] {
    const found = new Set<PromptEntry>()
    const queue = this.#resolve(entry).includes.map(each => each.entry)
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (found.has(next)) continue
      found.add(next)
      for (const each of this.#resolve(next).includes) queue.push(each.entry)
    }
    found.delete(entry)
    return [...found]
  }
}

function nameOf ({ id, version }: PromptEntry): string {
  return version === undefined ? id : `${id}@${version}`
}

const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys(), ...FORMS.map(({ name }) => name)]

/** Prevents a render. `wanted` has the names that were not found. */
interface Problem {
  readonly diagnostic: Diagnostic
  readonly wanted: readonly RequestedName[]
  /** The problem is solved when an including prompt defines that partial in its own text. */
  readonly partial?: string
}

function unknownLoopTool (name: string): Problem {
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: 'TOOL_UNKNOWN',
    message: `toolLoop names "${name}", which is no registered tool`,
    hint: 'register the tool, or correct the name'
  }
  return { diagnostic, wanted: [{ kind: 'tools', name: toFunctionName(name) }] }
}

/** `reason`: why the registered entry cannot be used; `undefined` when nothing is registered. */
function unresolved (from: PromptEntry, reference: Reference, reason: string | undefined, where: TextName | undefined): Problem {
  const isOfPrompt = isPartial(reference)
  // A text with references has been compiled, so its language is known.
  const { syntax = 'go' } = from.compiled
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: isOfPrompt ? 'PARTIAL_UNKNOWN' : 'FUNCTION_UNKNOWN',
    message: reason ?? (isOfPrompt
      ? `partial "${reference.name}" is not registered`
      : `function "${reference.name}" is no builtin of ${LANGUAGE_NAMES[syntax]} and no registered tool`),
    ...where,
    line: reference.line,
    column: reference.column,
    hint: isOfPrompt
      ? ['register a prompt of that id with one text', ...assumedHint(from, syntax)].join('; ')
      : hintForFunction(reference, syntax, assumedHint(from, syntax))
  }
  return { diagnostic, wanted: reason === undefined ? requestedNames(from, reference) : [], partial: isOfPrompt ? reference.name : undefined }
}

function requestedNames (from: PromptEntry, reference: Reference): RequestedName[] {
  if (!isPartial(reference)) return [{ kind: 'tools', name: reference.name }]
  return idsMeant(from.id, reference.name).map(name => ({ kind: 'templates', name }))
}

/** People who know Handlebars often forget the dot that Go wants before a name. */
function hintForFunction ({ name, arguments: given }: Reference, syntax: Syntax, assumed: readonly string[]): string {
  if (RESERVED_NAMES.has(name)) return `write .${name}: in Go syntax, names of the scope begin with a dot`
  const other = syntax === 'go' ? 'handlebars' : 'go'
  if (LANGUAGE_WORDS[other].has(name)) {
    const advice = `write it in ${LANGUAGE_NAMES[syntax]}, or add "syntax": "${other}" to the prompt`
    return `"${name}" is ${LANGUAGE_NAMES[other]}, and no tool can be called so: ${advice}`
  }
  const near = FUNCTION_NAMES.filter(each => isNearly(name, each))
  const advice = near.length > 0 ? `write ${near.join(' or ')}, if that is what you mean, or register the tool` : 'register the tool, or correct the name'
  return [advice, ...syntax === 'go' && given.length === 0 ? [`a value is .${name}, with a dot`] : [], ...assumed].join('; ')
}

function assumedHint ({ definition }: PromptEntry, syntax: Syntax): string[] {
  return definition.syntax === undefined ? [ifMisjudged(syntax)] : []
}

/** `way` ends with the prompt that closes the circle; `at` is the inclusion with which it begins. */
function endless (way: readonly PromptEntry[], { reference: { line, column }, where }: Inclusion): Problem {
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: 'PARTIAL_CYCLE',
    message: `its partials include each other without end: ${way.map(({ id }) => id).join(' → ')}`,
    ...where,
    line,
    column
  }
  return { diagnostic, wanted: [] }
}

function ofPartial (id: string, { diagnostic, wanted }: Problem): Problem {
  const { messageIndex: _message, part: _part, member: _member, ...rest } = diagnostic
  return { diagnostic: { ...rest, message: `in partial "${id}": ${diagnostic.message}` }, wanted }
}

interface Inclusion {
  readonly entry: PromptEntry
  readonly reference: Reference
  readonly where: TextName | undefined
}

/** Certain without a condition around the call, or inline partials there, which can replace registered prompts. */
function isCertain ({ reference: { calls = [] } }: Inclusion): boolean {
  return calls.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0)
}

function isAlwaysGiven (name: string, from: PromptEntry, to: PromptEntry, inclusionsOf: (entry: PromptEntry) => readonly Inclusion[]): boolean {
  const [without, having] = [new Set([from]), new Set<PromptEntry>()]
  const queue: Array<readonly [user: PromptEntry, isGiven: boolean]> = [[from, false]]
  for (const [user, isGiven] of queue) {
    for (const { entry, reference } of inclusionsOf(user)) {
      // The inline partial replaces the registered prompt here.
      if (isGiven && reference.name === name) continue
      const isHanded = isHandedOn(name, isGiven, reference, entry)
      if (!isHanded && entry === to) return false
      const seen = isHanded ? having : without
      if (seen.has(entry)) continue
      seen.add(entry)
      queue.push([entry, isHanded])
    }
  }
  return true
}

/** Given to the including prompt or defined there for every call; a prompt in Go can never use one. */
function isHandedOn (name: string, isGiven: boolean, { calls = [] }: Reference, to: PromptEntry): boolean {
  if (to.compiled.syntax !== 'handlebars') return false
  return isGiven || (calls.length > 0 && calls.every(({ inlines }) => inlines?.has(name) === true))
}
