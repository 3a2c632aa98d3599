import type { PartialCall } from '../template/language.ts'
import { scanTags } from '../template/tags.ts'
import type { Diagnostic } from './diagnostic.ts'
import type { Generation, Prompt } from './generation.ts'
import { isSound } from './kinds/prompt-kind.ts'
import { idsMeant } from './link/references.ts'
import type { PromptLookup } from './needs/needs-walk.ts'
import { collectNeeds, topOf } from './needs/prompt-needs.ts'
import { usageOf } from './needs/usage-index.ts'
import { type EnvironNames, firstSegment, isModule, isPublished, ownerOf, ownPaths } from './needs/variable-paths.ts'
import { advise, diagnosticsOf, type KnownNames, Suggestions, type Unanswered } from './unknown-names.ts'

interface LintContext {
  readonly prompts: PromptLookup
  readonly callersOf: CallersOf
  readonly environs: EnvironNames & { readonly index: KnownNames['environs'] }
  readonly visible: Pick<Generation, 'findRejected'> & Omit<KnownNames, 'environs' | 'parameters'>
}

/** The warnings depend on other entries, which change, so they are found when somebody asks. */
export function lintPrompt (prompt: Prompt, context: LintContext): Diagnostic[] {
  const { environs, visible } = context
  const near = new Suggestions(prompt.id, { ...visible, environs: environs.index, parameters: prompt.entry.parameters?.names ?? [] })
  return [
    ...diagnosticsOf(withHints(prompt, context), visible.findRejected, near),
    ...lintPaths(prompt, environs, near),
    ...lintUnusedParameters(prompt, context),
    ...lintDefaults(prompt),
    ...lintUnreachable(prompt),
    ...lintFailing(prompt)
  ]
}

/** An including prompt defines the partial inline: it is missing only where this prompt is rendered alone. */
function withHints (prompt: Prompt, { prompts, callersOf }: LintContext): Pick<Prompt, 'diagnostics' | 'unfound'> {
  const unfound = new Map(prompt.unfound)
  const diagnostics = prompt.diagnostics.map((diagnostic): Diagnostic => {
    const partial = unfound.get(diagnostic)?.findLast(({ kind }) => kind === 'templates')
    const giver = partial === undefined ? undefined : giverOf(partial.name, prompt, prompts, callersOf)
    if (giver === undefined) return diagnostic
    unfound.delete(diagnostic)
    return { ...diagnostic, severity: 'hint', hint: `nothing to do: ${giver} gives it inline, and it is missing only where this prompt is rendered alone` }
  })
  return { diagnostics, unfound }
}

function lintPaths (prompt: Prompt, environs: EnvironNames, near: Suggestions): Diagnostic[] {
  const declared = prompt.entry.parameters?.bareNames
  // Dotprompt names its variables without `variables.`.
  const isDotprompt = Object.hasOwn(prompt.entry.definition.source, 'x-dotprompt')
  const found = new Map<string, Diagnostic>()
  const read = [...ownPaths(prompt)].filter(({ need }) => need.path !== '').map(each => ({ ...each, owned: ownerOf(each.need.path, declared, environs) }))
  const tested = new Set(read.flatMap(({ need, owned }) => need.use === 'tested' ? [owned.path] : []))
  for (const { need, where, owned: { owner, path, isBare } } of read) {
    const at = { ...where, line: need.line, column: need.column }
    const note: Note = (diagnostic, about, unanswered = []) => {
      const key = `${diagnostic.code} ${about}`
      if (!found.has(key)) found.set(key, { ...advise(diagnostic, near.of(unanswered)), ...at })
    }
    if (owner === 'environs') {
      if (!isModule(firstSegment(path), environs) || !isGuarded(path, tested, environs)) noteUnpublished(path, environs, note)
    } else if (owner === 'variables' && path !== 'variables') {
      const name = topOf(path)
      if (isBare && !isDotprompt) {
        note({
          severity: 'hint',
          code: 'BARE_VARIABLE',
          message: `"${name}" is read from the variables`,
          hint: `write variables.${name}, unless a partial is given it`
        }, name)
      }
      if (declared?.has(name) === false && name !== '*') {
        note({
          severity: 'warning',
          code: 'PARAMETER_UNDECLARED',
          message: `"${name}" is not among the parameters that the prompt declares`,
          hint: `add "${name}" to its parameters, or correct the name`
        }, name, [{ kind: 'parameters', name }])
      }
    }
  }
  return [...found.values()]
}

/** Keeps the first of a code about a name; `unanswered` has the kinds that were looked up. */
type Note = (diagnostic: Diagnostic, about: string, unanswered?: readonly Unanswered[]) => void

function noteUnpublished (path: string, environs: EnvironNames, note: Note): void {
  if (isPublished(path, environs)) return
  const about = isModule(firstSegment(path), environs)
    ? { message: `no shared variable "${path}" is published`, hint: 'publish the shared variable, or correct the name' }
    : {
        message: `"${path}" is no declared parameter and no published shared variable`,
        hint: 'correct the name, publish the shared variable, or declare the parameter, unless a partial is given it'
      }
  note({ severity: 'warning', code: 'VARIABLE_UNSATISFIABLE', ...about }, path, [{ kind: 'parameters', name: path }, { kind: 'environs', name: path }])
}

/** The template uses the path only where its own test succeeds, so it needs no warning. */
function isGuarded (path: string, tested: ReadonlySet<string>, environs: EnvironNames): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const holder = path.slice(0, end)
    if (tested.has(holder) && !isPublished(holder, environs)) return true
  }
  return false
}

function lintUnusedParameters (prompt: Prompt, { prompts, environs }: LintContext): Diagnostic[] {
  const { parameters } = prompt.entry
  if (parameters === undefined || !isSound(prompt.entry)) return []
  const { variables, partials, complete } = collectNeeds(prompt, prompts, environs)
  const read = new Set(variables.flatMap(({ path, line }) => line === undefined ? [] : [topOf(path)]))
  // `{{json variables}}` reads all variables, and a name computed in a render can be any.
  if (!complete || read.has('') || read.has('*')) return []
  const unread = [...parameters.names].filter(name => !read.has(name))
  if (unread.length === 0) return []
  const texts = [prompt, ...partials.flatMap(({ id }) => (id === undefined ? undefined : prompts.get(id)) ?? [])]
  const words = new Set(texts.flatMap(wordsInTags))
  return unread.filter(name => !words.has(name)).map(name => ({
    severity: 'warning',
    code: 'PARAMETER_UNUSED',
    message: `parameter "${name}" is declared and never used`
  }))
}

/** A render with a wrong default is refused, although the caller has sent nothing wrong. */
function lintDefaults ({ entry }: Prompt): Diagnostic[] {
  return (entry.parameters?.wrongDefaults ?? []).map(({ path, message }) => ({
    severity: 'warning',
    code: 'PARAMETER_DEFAULT',
    message: `a default breaks what its parameter declares: ${path} ${message}`
  }))
}

/** A parameter among these does not count as unused: only a render shows where a Handlebars block looks a name up. */
function wordsInTags ({ entry }: Prompt): string[] {
  const { definition, compiled: { syntax = 'either' } } = entry
  if (syntax === 'go') return []
  const tags = definition.texts.flatMap(({ text }) => [...scanTags(text, syntax)])
  return tags.flatMap(({ inner }) => inner.match(/[\p{L}\p{Nd}_$-]+/gu) ?? [])
}

function lintUnreachable (prompt: Prompt): Diagnostic[] {
  return prompt.entry.compiled.texts.flatMap(({ where, unreachable }) => unreachable.map((part): Diagnostic => ({
    severity: 'warning',
    code: 'UNREACHABLE',
    message: `this part never runs: ${part.reason}`,
    ...where,
    line: part.line,
    column: part.column
  })))
}

function lintFailing (prompt: Prompt): Diagnostic[] {
  return prompt.entry.compiled.texts.flatMap(({ where, failing }) => failing.map((part): Diagnostic => ({
    severity: 'warning',
    code: 'ALWAYS_FAILS',
    message: `this part fails whenever it runs: ${part.reason}`,
    ...where,
    line: part.line,
    column: part.column
  })))
}

/** Prompts looked at in one search for those that include a prompt. */
const MAX_CALLERS = 1000

/** Prompts count, too, that would include it if it were registered. */
export type CallersOf = (id: string) => Iterable<string>

/** The index is made only when a prompt names a missing partial, since nothing else asks for it. */
export async function callersIn (generation: Generation, prompts: Iterable<Prompt>): Promise<CallersOf> {
  for (const { unfound } of prompts) {
    for (const wanted of unfound.values()) {
      if (!wanted.some(({ kind }) => kind === 'templates')) continue
      const { prompts: callers, hopeful } = await usageOf(generation)
      return id => [...callers.get(id) ?? [], ...hopeful.get(id) ?? []]
    }
  }
  return () => []
}

/** It includes the given prompt, directly or not; `undefined` if none does. */
function giverOf (partial: string, { id, entry }: Pick<Prompt, 'id' | 'entry'>, prompts: PromptLookup, callersOf: CallersOf): string | undefined {
  // A prompt in Go cannot use inline partials of the prompts that include it.
  if (entry.compiled.syntax !== 'handlebars') return undefined
  const below = new Set([id])
  for (const called of below) {
    for (const caller of callersOf(called)) {
      const prompt = prompts.get(caller)
      if (prompt?.entry.compiled.syntax !== 'handlebars') continue
      const calls = callsOf(prompt, called)
      if (calls.some(({ inlines }) => inlines?.has(partial) === true)) return caller
      if (calls.length > 0 && below.size < MAX_CALLERS) below.add(caller)
    }
  }
  return undefined
}

function callsOf ({ id: from, entry, texts }: Prompt, id: string): PartialCall[] {
  return entry.compiled.texts.flatMap(({ references }, text) => references.flatMap(({ name, calls = [] }, index) => {
    const link = texts[text]?.links[index]
    return (link === undefined ? idsMeant(from, name).includes(id) : link.id === id) ? calls : []
  }))
}
