import type { TextName } from '../../base/errors.ts'
import { isJsonObject, type Json } from '../../base/json.ts'
import type { Link, PathNeed, Reference } from '../../template/language.ts'
import type { Position } from '../../template/tags.ts'
import type { Prompt } from '../generation.ts'
import type { PromptParameters } from '../kinds/prompt-parameters.ts'
import { isOptional, isPartial, toFunctionName } from '../link/references.ts'
import {
  type EnvironNeed, givenAt, type NeedPlace, NeedsWalk, type PromptLookup, type PromptNeeds, type ReferenceNeed, type VariableNeed, type TextVisit
} from './needs-walk.ts'
import { type EnvironNames, firstSegment, isPublished, type OwnedPath, ownPaths } from './variable-paths.ts'

interface NeedRow {
  readonly path: string
  readonly use: PathNeed['use']
  readonly place: NeedPlace
  readonly default: Json | undefined
  readonly hasDefault: boolean
}

class VariableNeeds {
  readonly #declared: PromptParameters | undefined
  readonly #rows = new Map<string, NeedRow>()
  readonly #tested = new Set<string>()

  constructor (prompt: Prompt) {
    this.#declared = prompt.entry.parameters
  }

  add (path: string, read: PathNeed['use'], visit: TextVisit, place: NeedPlace): void {
    const given = givenAt(visit, path)
    const use = given !== undefined && visit.isPossible ? 'possible' : read
    // The variables as a whole always exist, so a test for them always succeeds.
    if (use === 'tested' && path !== 'variables') this.#tested.add(path)
    const key = `${path} ${place.in ?? ''}`
    const known = this.#rows.get(key)
    if (known === undefined) this.#rows.set(key, { path, use, place, ...this.#defaultOf(path, given ?? visit) })
    else if (use === 'used' || known.use === 'possible') this.#rows.set(key, { ...known, use })
  }

  /** Then those that the prompt declares as required and that no text reads. */
  list (): VariableNeed[] {
    const read = [...this.#rows.values()].map((row): VariableNeed => ({
      path: row.path,
      use: row.use,
      required: this.#isRequired(row),
      default: row.default,
      ...row.place
    }))
    return [...read, ...this.#unread(read)]
  }

  /** None for a variable that the prompt itself requires: the render is refused before a partial's default. */
  #defaultOf (path: string, { parameters }: Pick<TextVisit, 'parameters'>): Pick<NeedRow, 'default' | 'hasDefault'> {
    return this.#requires(topOf(path)) ? { default: undefined, hasDefault: false } : defaultOf(path, parameters)
  }

  #requires (name: string): boolean {
    return this.#declared?.required.has(name) === true && !Object.hasOwn(this.#declared.defaults, name)
  }

  /** A tested path is used only where the test succeeds: it is not required, unless it is declared so. */
  #isRequired ({ path, use, hasDefault }: NeedRow): boolean {
    if (hasDefault || path === 'variables') return false
    if (this.#requires(path.slice('variables.'.length))) return true
    return use === 'used' && !this.#isTested(path)
  }

  #isTested (path: string): boolean {
    for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
      if (this.#tested.has(path.slice(0, end))) return true
    }
    return false
  }

  #unread (read: readonly VariableNeed[]): VariableNeed[] {
    const covered = new Set(read.filter(({ path, required }) => required || path === `variables.${topOf(path)}`).map(({ path }) => topOf(path)))
    return [...this.#declared?.required ?? []]
      .filter(name => this.#requires(name) && !covered.has(name))
      .map(name => ({ path: `variables.${name}`, use: 'tested', required: true }))
  }
}

export function topOf (path: string): string {
  return firstSegment(path.slice('variables.'.length))
}

/** The outermost prompt's default counts. A partial's do not apply to the arguments with which it is called. */
function defaultOf (path: string, parameters: readonly PromptParameters[]): Pick<NeedRow, 'default' | 'hasDefault'> {
  const [top = '', ...rest] = path.split('.').slice(1)
  const declaring = parameters.find(({ defaults }) => Object.hasOwn(defaults, top))
  let value: Json | undefined = declaring?.defaults[top]
  for (const segment of rest) {
    if (value === undefined) break
    if (segment === '*') return { default: undefined, hasDefault: true }
    value = memberOf(value, segment)
  }
  return { default: value, hasDefault: value !== undefined }
}

function memberOf (value: Json, name: string): Json | undefined {
  const isContainer = Array.isArray(value) || isJsonObject(value)
  return isContainer && Object.hasOwn(value as object, name) ? (value as Readonly<Record<string, Json>>)[name] : undefined
}

export function collectNeeds (prompt: Prompt, prompts: PromptLookup, environs: EnvironNames): PromptNeeds {
  const walk = new NeedsWalk(prompt, prompts, environs)
  const variables = new VariableNeeds(prompt)
  const environNeeds = new Map<string, EnvironNeed>()
  const caller = new Map<string, PromptNeeds['caller'][number]>()
  const references: { tools: ReferenceNeed[], partials: Array<ReferenceNeed & NeedPlace> } = { tools: [], partials: [] }
  const listed = new Set<Prompt['entry']>()
  let hasMorePaths = false

  for (const visit of walk.visits()) {
    for (const { need, where } of ownPaths(visit.prompt, environs)) {
      const owned = need.path === '' ? wholeOf(visit) : walk.resolve(visit, need.path)
      if (owned === undefined) continue
      const place = placeOf(visit, where, need)
      if (owned.owner === 'variables') variables.add(owned.path, need.use, visit, place)
      else if (owned.owner === 'caller') remember(caller, owned, need, place)
      else remember(environNeeds, owned, need, { ...place, registered: isPublished(owned.path, environs) })
    }
    if (listed.has(visit.prompt.entry)) continue
    listed.add(visit.prompt.entry)
    hasMorePaths ||= visit.prompt.entry.compiled.texts.some(text => text.hasMorePaths)
    addReferences(visit, references)
  }
  references.tools.push(...offeredTools(prompt))
  return {
    variables: variables.list(),
    environs: [...environNeeds.values()],
    caller: [...caller.values()],
    ...references,
    complete: walk.isComplete && !hasMorePaths
  }
}

/** All variables for `{{json .}}` at the root; another dot's path was listed where the partial is called. */
function wholeOf ({ dot }: TextVisit): OwnedPath | undefined {
  return dot?.path === '' ? { owner: 'variables', path: 'variables', isBare: false } : undefined
}

/** One row for each path in each text, with its first place; `use` becomes `used` when any place uses it. */
function remember<T extends NeedPlace> (rows: Map<string, T & { path: string, use: PathNeed['use'] }>, { path }: OwnedPath, { use }: PathNeed, rest: T): void {
  const key = `${path} ${rest.in ?? ''}`
  const known = rows.get(key)
  if (known === undefined) rows.set(key, { path, use, ...rest })
  else if (use === 'used') rows.set(key, { ...known, use })
}

function addReferences (visit: TextVisit, { tools, partials }: { tools: ReferenceNeed[], partials: Array<ReferenceNeed & NeedPlace> }): void {
  for (const [text, { where, references }] of visit.prompt.entry.compiled.texts.entries()) {
    for (const [index, reference] of references.entries()) {
      const link = visit.prompt.texts[text]?.links[index]
      if (link === undefined && (isOptional(reference) || visit.replaced.has(reference.name))) continue
      const list = isPartial(reference) ? partials : tools
      list.push(describe(reference, link, placeOf(visit, where, reference)))
    }
  }
}

/** Tools in its templates and partials are listed apart. */
function offeredTools ({ entry, loopTools }: Prompt): ReferenceNeed[] {
  return (entry.chat.toolLoop?.tools ?? []).map(name => {
    const tool = loopTools.find(each => each.name === toFunctionName(name))
    return { name, id: tool?.id, arguments: [] }
  })
}

function describe ({ name, arguments: written }: Reference, link: Link | undefined, place: NeedPlace): ReferenceNeed & NeedPlace {
  return { name, id: link?.id, arguments: written, ...place }
}

function placeOf ({ prompt, isTop }: TextVisit, where: TextName | undefined, { line, column }: Position): NeedPlace {
  return {
    line,
    column,
    ...where,
    ...(isTop ? {} : { in: prompt.id })
  }
}
