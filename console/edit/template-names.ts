/** The names that a template may use: which of them fit a place that is being typed, and what a name at a place stands for. */
import FUNCTIONS from './functions.json' with { type: 'json' }
import type { Block, Place, Syntax } from './template-place.ts'

type Kind = 'local' | 'member' | 'variable' | 'shared' | 'partial' | 'function' | 'tool' | 'word' | 'unknown'

/** What a name stands for. */
export interface Named {
  readonly kind: Kind
  readonly name: string
  /** What the author sees of it: of a parameter, a partial or a tool. Functions and words are described by their names. */
  readonly description?: string
  /** Of a variable, or of what a block is about: its value now, and where that is from. A shared variable's is asked for by its name. */
  readonly value?: { readonly now: unknown, readonly from: 'form' | 'default' | 'first' }
  /** The tag that made a local name, or the block that a member belongs to. */
  readonly by?: Pick<Block, 'tag' | 'line'>
}

export interface Option extends Named { readonly insert: string }

interface Field { readonly name: string, readonly description?: string, readonly standard?: unknown }

/** A name in a template, with the id of what it stands for. */
interface Reference { readonly name: string, readonly id?: string }

/** What the workbench knows of a prompt: its variables with their values in the form, and what the last preview found in its texts. */
export interface PromptNames {
  readonly fields: readonly Field[]
  readonly values: Readonly<Record<string, unknown>>
  readonly needs: { readonly tools: readonly Reference[], readonly partials: readonly Reference[] } | undefined
}

/** What is registered, as far as the caller may see it. */
export interface Registered {
  readonly environs: readonly string[]
  readonly prompts: ReadonlyArray<{ readonly id: string, readonly description: string }>
  readonly tools: ReadonlyArray<{ readonly function: string, readonly description: string }>
}

export type Known = PromptNames & Registered

/** The functions of both languages, each with its parameters. */
const SHARED_FUNCTIONS: ReadonlyMap<string, string> = new Map(Object.entries(FUNCTIONS))

/** How a function is called; its name alone for one that only one language has. */
export function callOf (name: string): string {
  const parameters = SHARED_FUNCTIONS.get(name)
  return parameters === undefined ? name : `${name} ${parameters}`
}

const OWN_FUNCTIONS: Readonly<Record<Syntax, readonly string[]>> = {
  go: ['call', 'html', 'js', 'print', 'printf', 'println', 'slice', 'urlquery'],
  handlebars: ['lookup']
}

const BLOCKS: Readonly<Record<Syntax, readonly string[]>> = { go: ['if', 'range', 'with', 'define', 'block'], handlebars: ['if', 'unless', 'each', 'with'] }

/** The words of a language that are no functions. */
const WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = {
  go: new Set([...BLOCKS.go, 'else', 'end', 'template', 'break', 'continue']),
  handlebars: new Set([...BLOCKS.handlebars, 'else', 'inline'])
}

const MODULES_OF_CALLER = new Set(['variables', 'args'])

/** What fits the place, the best first. An empty list means that nothing is to be said. */
export function optionsAt (place: Place, text: string, syntax: Syntax, known: Known): readonly Option[] {
  if (place.role === 'made') return []
  if (place.role === 'partial') return matching(partials(text, syntax, known), place.text)
  if (place.role === 'close') return place.open === undefined ? [] : matching([word(place.open.word)], place.text)
  if (place.role === 'block') return matching(BLOCKS.handlebars.map(name => word(name, `${name} `)), place.text)
  const { base, segments, isMember } = partsOf(place, syntax)
  if (isMember) return matching(membersAt(place, base, segments, syntax, known), segments.at(-1) ?? '')
  const ofGo = syntax === 'go' && place.text.startsWith('.')
  const locals = ofGo ? [] : place.locals.map(({ name, by }): Option => ({ kind: 'local', name, insert: name, by }))
  const isCall = place.role !== 'value' && !ofGo && base === ''
  // An argument in Handlebars that is not in parentheses is a value, and what follows a parenthesis is a call.
  const values = syntax === 'handlebars' && place.role === 'call' ? [] : [...locals, ...paths(place, syntax, known)]
  const query = base === '$' && segments.length === 0 ? '' : base === '' || base === '$' ? segments.join('.') : base
  return matching([...values, ...isCall ? [...calls(syntax, known), ...words(place, syntax)] : []], query)
}

function word (name: string, insert = name): Option {
  return { kind: 'word', name, insert }
}

/** The words that may begin a tag here. */
function words (place: Place, syntax: Syntax): readonly Option[] {
  if (place.role !== 'start') return []
  const isOpen = place.open !== undefined
  if (syntax === 'handlebars') {
    const ends = place.open === undefined ? [] : [word('else'), word(`/${place.open.word}`)]
    return [...BLOCKS.handlebars.map(name => word(`#${name}`, `#${name} `)), ...ends, word('>', '> ')]
  }
  const loops = place.dots.some(({ word: of }) => of === 'range') ? ['break', 'continue'] : []
  return [...[...BLOCKS.go, 'template'].map(name => word(name, `${name} `)), ...[...isOpen ? ['else', 'end'] : [], ...loops].map(name => word(name))]
}

function calls (syntax: Syntax, { tools }: Known): readonly Option[] {
  return [
    ...[...SHARED_FUNCTIONS.keys(), ...OWN_FUNCTIONS[syntax]].map((name): Option => ({ kind: 'function', name, insert: `${name} ` })),
    ...tools.map(({ function: name, description }): Option => ({ kind: 'tool', name, description, insert: `${name} ` }))
  ]
}

/** The partials that a template makes within itself. */
const INSIDE: Readonly<Record<Syntax, RegExp>> = {
  go: /\{\{(?:-\s)?\s*(?:define|block)\s+"([^"]+)"/g,
  handlebars: /\{\{~?#\*\s*inline\s+"([^"]+)"/g
}

function partials (text: string, syntax: Syntax, { prompts }: Known): readonly Option[] {
  const quoted = (id: string) => syntax === 'handlebars' && /^[\w./-]+$/.test(id) ? id : JSON.stringify(id)
  const inside = Array.from(text.matchAll(INSIDE[syntax]), ([, id = '']) => ({ id, description: '' }))
  return [...inside, ...prompts].map(({ id, description }) => ({ kind: 'partial', name: id, description, insert: quoted(id) }))
}

/** Variables and shared variables, each as a template reaches it from the place. */
function paths (place: Place, syntax: Syntax, { fields, values, environs }: Known): readonly Option[] {
  const isRoot = place.dots.length === 0
  const written = (path: readonly string[]) => WRITTEN[syntax](path, isRoot, place.role === 'value')
  return [
    ...fields.map((field): Option => ({ ...variable(field, [field.name], values), insert: written(['variables', field.name]) })),
    ...environs.map((name): Option => ({ kind: 'shared', name, insert: written(name.split('.')) }))
  ]
}

const NAME_IN_GO = /^[\p{L}_][\p{L}\p{N}_]*$/u
const NAME_IN_HANDLEBARS = /^[^\s!"#%&'()*+,./;<=>@[\\\]^`{|}~]+$/

const WRITTEN: Readonly<Record<Syntax, (segments: readonly string[], isRoot: boolean, isArgument: boolean) => string>> = {
  go: (segments, isRoot, isArgument) => {
    const odd = segments.findIndex(segment => !NAME_IN_GO.test(segment))
    const plain = (isRoot ? '' : '$') + segments.slice(0, odd < 0 ? undefined : odd).map(segment => `.${segment}`).join('')
    if (odd < 0) return plain
    const call = `index ${plain === '' ? '.' : plain} ${segments.slice(odd).map(segment => JSON.stringify(segment)).join(' ')}`
    return isArgument ? `(${call})` : call
  },
  handlebars: (segments, isRoot) => (isRoot ? '' : '@root.') + segments.map(segment => NAME_IN_HANDLEBARS.test(segment) ? segment : `[${segment}]`).join('.')
}

/**
 * The name at a place in its parts. @returns `base`: a local name, `$` for the scope root or `''` for the dot. `isMember`: whether the rest
 * are members of a local name, or of what a block is about
 */
function partsOf ({ text, dots, locals }: Place, syntax: Syntax): { readonly base: string, readonly segments: readonly string[], readonly isMember: boolean } {
  if (syntax === 'go') {
    const [head = '', ...rest] = text.split('.')
    if (/^\$./.test(head)) return { base: head, segments: rest, isMember: rest.length > 0 }
    const isDot = head === '' && rest.length > 0
    return { base: head === '$' ? '$' : '', segments: head === '' || head === '$' ? rest : [head, ...rest], isMember: isDot && dots.length > 0 }
  }
  const root = /^@root(?:[./]|$)/.exec(text)?.[0] ?? ''
  const explicit = /^(?:\.\.?\/|\.\.?$|this(?:[./]|$))*/.exec(text)?.[0] ?? ''
  const path = text.slice(root.length + explicit.length)
  const segments = path === '' ? [] : Array.from(path.matchAll(/\[([^\]]*)\]?|([^./[\]]+)|(?<=[./])$/g), ([, quoted, plain]) => quoted ?? plain ?? '')
  if (root !== '') return { base: '$', segments, isMember: false }
  const [head = ''] = segments
  if (explicit === '' && (head.startsWith('@') || locals.some(({ name }) => name === head))) {
    return { base: head, segments: segments.slice(1), isMember: segments.length > 1 }
  }
  return { base: '', segments, isMember: explicit !== '' && dots.length > 0 }
}

/** The members that the value in the form has, of a local name or of what the innermost block is about. */
function membersAt (place: Place, base: string, segments: readonly string[], syntax: Syntax, known: Known): readonly Option[] {
  const before = segments.slice(0, -1)
  const holder = memberAt(holderOf(place, base, known)?.now, before)
  if (!isObject(holder)) return []
  const head = place.text.slice(0, place.text.length - (segments.at(-1)?.length ?? 0))
  const isName = syntax === 'go' ? NAME_IN_GO : NAME_IN_HANDLEBARS
  return Object.keys(holder).filter(name => isName.test(name)).map(name => ({ kind: 'member', name, insert: head + name }))
}

/** The value that a block, or a name that it made, has in the form: of a loop that of the first round. */
function holderOf (place: Place, base: string, known: Known): Named['value'] {
  const by = base === '' ? place.dots.at(-1) : place.locals.findLast(({ name }) => name === base)?.by
  if (by?.path === undefined || (base !== '' && by.names[0] !== base)) return undefined
  const path = by.path.replace(/^(?:\$?\.|@root[./])/, '')
  const of = /^[$@.]/.test(path) ? undefined : atRoot(path.split('.'), known)
  if (of?.kind !== 'variable' || of.value === undefined) return undefined
  const { now } = of.value
  if (by.word !== 'range' && by.word !== 'each') return { now, from: 'form' }
  return { now: isObject(now) ? Object.values(now)[0] as unknown : undefined, from: 'first' }
}

const membersOf = (holder: Named['value'], segments: readonly string[]): Named['value'] => holder && { ...holder, now: memberAt(holder.now, segments) }

/** In the order in which equally good names are listed. */
const RANKS: readonly Kind[] = ['local', 'member', 'variable', 'shared', 'partial', 'function', 'tool', 'word']

/** With an empty query, so many shared variables stand before the functions; more of them follow at the end. */
const MOST_SHARED = 20

/** The options that have the query in their names: first those that begin with it, then those of which a part does. */
function matching (options: readonly Option[], query: string): readonly Option[] {
  const wanted = query.toLowerCase()
  const isMuch = wanted === '' && options.filter(({ kind }) => kind === 'shared').length > MOST_SHARED
  const scored = options.flatMap(option => {
    const fit = fitOf(option, wanted)
    return fit < 0 ? [] : [{ option, order: fit * RANKS.length + (isMuch && option.kind === 'shared' ? RANKS.length : RANKS.indexOf(option.kind)) }]
  })
  return scored.sort((one, other) => one.order - other.order).map(({ option }) => option)
}

function fitOf ({ kind, name }: Option, wanted: string): number {
  if (wanted === '') return 0
  const lower = name.toLowerCase()
  const at = lower.indexOf(wanted)
  if (at === 0 || (kind === 'variable' && `variables.${lower}`.startsWith(wanted))) return 0
  if (at < 0) return -1
  return /[^\p{L}\p{N}]/u.test(lower[at - 1] ?? '') ? 1 : 2
}

/** What the name at the place stands for; `undefined` where there is nothing to say, as of `true` or of a closing tag. */
export function nameAt (place: Place, text: string, syntax: Syntax, known: Known): Named | undefined {
  const { text: name, role } = place
  if (role === 'partial') return partialNamed(name, text, syntax, known)
  if (role === 'close' || (role === 'block' && BLOCKS.handlebars.includes(name))) return WORDS[syntax].has(name) ? word(name) : undefined
  const { base, segments } = partsOf(place, syntax)
  if (base !== '' && base !== '$') return localNamed(place, base, segments, known)
  if (isCalled(place, syntax, segments)) return calledName(name, syntax, known)
  if (segments.length === 0) return undefined
  const block = place.dots.at(-1)
  if (base === '$' || block === undefined) return atRoot(segments, known)
  return { kind: 'member', name: segments.join('.'), by: block, value: membersOf(holderOf(place, '', known), segments) }
}

/** In Handlebars a name without arguments is a value, unless it stands in parentheses. */
function isCalled ({ text, role, hasArguments }: Place, syntax: Syntax, segments: readonly string[]): boolean {
  if (syntax === 'go') return /^[\p{L}_]/u.test(text)
  return segments.length === 1 && !/^[@.[]/.test(text) && (role === 'call' || (role === 'start' && (hasArguments || text === 'else')))
}

function localNamed (place: Place, base: string, segments: readonly string[], known: Known): Named {
  const by = place.locals.findLast(({ name }) => name === base)?.by
  if (by === undefined) return { kind: 'unknown', name: base }
  return { kind: 'local', name: [base, ...segments].join('.'), by, value: membersOf(holderOf(place, base, known), segments) }
}

function calledName (name: string, syntax: Syntax, { tools, needs }: Known): Named | undefined {
  if (/^(?:true|false|nil|null|undefined)$/.test(name)) return undefined
  if (WORDS[syntax].has(name)) return { kind: 'word', name }
  if (SHARED_FUNCTIONS.has(name) || OWN_FUNCTIONS[syntax].includes(name)) return { kind: 'function', name }
  const id = needs?.tools.find(tool => tool.name === name)?.id
  const tool = tools.find(each => each.function === name) ?? tools.find(each => each.function === id?.replaceAll('.', '_'))
  return tool === undefined ? { kind: 'unknown', name } : { kind: 'tool', name, description: tool.description }
}

function partialNamed (name: string, text: string, syntax: Syntax, known: Known): Named | undefined {
  if (name === '') return undefined
  const id = known.needs?.partials.find(partial => partial.name === name)?.id ?? name.replace(/@\d+$/, '')
  const found = partials(text, syntax, known).find(({ name: each }) => each === id)
  return found === undefined ? { kind: 'unknown', name } : { kind: 'partial', name, description: found.description }
}

/** The modules of shared variables hide variables that are named like them, as they do when the service renders. */
function atRoot (segments: readonly string[], { fields, values, environs }: Known): Named {
  const [head = '', ...rest] = segments
  const name = segments.join('.')
  const own = MODULES_OF_CALLER.has(head) ? rest : segments
  if (!MODULES_OF_CALLER.has(head) && environs.some(id => id === head || id.startsWith(`${head}.`))) return { kind: 'shared', name }
  const field = fields.find(each => each.name === own[0])
  if (field !== undefined) return variable(field, own, values)
  if (!MODULES_OF_CALLER.has(head)) return { kind: 'unknown', name }
  return { kind: 'variable', name: own.join('.'), value: { now: memberAt(values, own), from: 'form' } }
}

function variable ({ name, description, standard }: Field, [, ...rest]: readonly string[], values: Known['values']): Named {
  const isGiven = Object.hasOwn(values, name)
  const now = memberAt(isGiven ? values[name] : standard, rest)
  return { kind: 'variable', name: [name, ...rest].join('.'), description, value: { now, from: isGiven || standard === undefined ? 'form' : 'default' } }
}

/** The member of a value that the names lead to, one after the other. */
export function memberAt (value: unknown, names: readonly string[]): unknown {
  let found = value
  for (const name of names) found = isObject(found) && Object.hasOwn(found, name) ? (found as Record<string, unknown>)[name] : undefined
  return found
}

/** The shared variable in which a name lies, and the names of the members below it: `company.address.city` may be part of `company.address`. */
export function environOf (name: string, environs: readonly string[]): { readonly id: string, readonly rest: readonly string[] } {
  const isThere = environs.some(id => id === name || id.startsWith(`${name}.`))
  const holder = isThere ? name : environs.filter(id => name.startsWith(`${id}.`)).sort((one, other) => other.length - one.length)[0] ?? name
  return { id: holder, rest: holder === name ? [] : name.slice(holder.length + 1).split('.') }
}

function isObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
