import type { TextName } from '../../base/errors.ts'
import { FORMS } from '../../template/function-forms.ts'
import { FUNCTIONS, LANGUAGE_WORDS } from '../../template/functions.ts'
import type { Reference, Syntax } from '../../template/language.ts'
import { RESERVED_NAMES } from '../../template/scope.ts'
import { type Diagnostic, ifMisjudged, LANGUAGE_NAMES } from '../diagnostic.ts'
import type { RequestedName } from '../generation.ts'
import type { PromptEntry } from '../kinds/prompt-kind.ts'
import { isNearly } from '../../base/near-matches.ts'
import { idsMeant, isPartial, toFunctionName } from './references.ts'

const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys(), ...FORMS.map(({ name }) => name)]

/** Prevents a render. `wanted` has the names that were not found. */
export interface Problem {
  readonly diagnostic: Diagnostic
  readonly wanted: readonly RequestedName[]
  /** The problem is solved when an including prompt defines that partial in its own text. */
  readonly partial?: string
}

export function unknownLoopTool (name: string): Problem {
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: 'TOOL_UNKNOWN',
    message: `toolLoop names "${name}", which is no registered tool`,
    hint: 'register the tool, or correct the name'
  }
  return { diagnostic, wanted: [{ kind: 'tools', name: toFunctionName(name) }] }
}

/** `reason`: why the registered entry cannot be used; `undefined` when nothing is registered. */
export function unresolved (from: PromptEntry, reference: Reference, reason: string | undefined, where: TextName | undefined): Problem {
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
export function endless (way: readonly PromptEntry[], { reference: { line, column }, where }: Inclusion): Problem {
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

export function ofPartial (id: string, { diagnostic, wanted }: Problem): Problem {
  const { messageIndex: _message, part: _part, member: _member, ...rest } = diagnostic
  return { diagnostic: { ...rest, message: `in partial "${id}": ${diagnostic.message}` }, wanted }
}

export interface Inclusion {
  readonly entry: PromptEntry
  readonly reference: Reference
  readonly where: TextName | undefined
}

/** Certain without a condition around the call, or inline partials there, which can replace registered prompts. */
export function isCertain ({ reference: { calls = [] } }: Inclusion): boolean {
  return calls.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0)
}

export function isAlwaysGiven (name: string, from: PromptEntry, to: PromptEntry, inclusionsOf: (entry: PromptEntry) => readonly Inclusion[]): boolean {
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
