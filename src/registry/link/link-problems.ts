import { type TextName } from '../../base/errors.ts'
import { keyToFunction } from '../../store/keys.ts'
import { FORMS } from '../../template/functions/forms.ts'
import { FUNCTIONS } from '../../template/functions/functions.ts'
import { LANGUAGE_WORDS } from '../../template/functions/reserved.ts'
import { type Reference, type Syntax } from '../../template/language.ts'
import { RESERVED_NAMES } from '../../template/run/scope.ts'
import { ifMisjudged, LANGUAGE_NAMES } from '../diagnostic/assumed-syntax.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { type Wanted } from '../generation/generation.ts'
import { type Inclusion } from './handed-inlines.ts'
import { isNearly } from '../diagnostic/near-matches.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { idsMeant, isPartial } from './references.ts'

/** The functions that exist in both template languages, for suggestions. */
const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys(), ...FORMS.map(({ name }) => name)]

/** A problem with a name in a prompt: the prompt cannot be rendered because of it. `wanted` has the names that were looked up and not found. */
export interface Problem {
  readonly diagnostic: Diagnostic
  readonly wanted: readonly Wanted[]
  /** The name of the partial that the problem is about. The problem is solved when a prompt that includes this one defines that partial in its own text. */
  readonly partial?: string
}

/** The function name of a tool that a prompt names by its id or by its function name. */
export function toFunctionName (name: string): string {
  return keyToFunction(name, '')
}

/** The problem that a prompt offers to its model a tool that is not registered. */
export function unknownLoopTool (name: string): Problem {
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: 'TOOL_UNKNOWN',
    message: `toolLoop names "${name}", which is no registered tool`,
    hint: 'register the tool, or correct the name'
  }
  return { diagnostic, wanted: [{ kind: 'tools', name: toFunctionName(name) }] }
}

/**
 * The problem of a name for which nothing usable is registered.
 * @param reason why the registered entry cannot be used; `undefined` when nothing is registered
 * @param where which of the prompt's texts has the name; `undefined` when the prompt has only one text
 */
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
  return { diagnostic, wanted: reason === undefined ? wantedBy(from, reference) : [], ...(isOfPrompt ? { partial: reference.name } : {}) }
}

function wantedBy (from: PromptEntry, reference: Reference): Wanted[] {
  if (!isPartial(reference)) return [{ kind: 'tools', name: reference.name }]
  return idsMeant(from.id, reference.name).map(name => ({ kind: 'templates', name }))
}

/** The hint for a function that does not exist. People who know Handlebars often forget the dot that Go wants before a name. */
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

/** The hint that names the language in which the text was read, for a prompt that does not declare its language. */
function assumedHint ({ definition }: PromptEntry, syntax: Syntax): string[] {
  return definition.syntax === undefined ? [ifMisjudged(syntax)] : []
}

/**
 * The problem of a prompt whose partials include each other without end.
 * @param way the prompts from this one to the one that closes the circle
 * @param at the inclusion in this prompt with which the way begins
 */
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

/** The problem of a partial, turned into a problem of the prompt that includes the partial. */
export function ofPartial (id: string, { diagnostic, wanted }: Problem): Problem {
  const { messageIndex: _message, part: _part, member: _member, ...rest } = diagnostic
  return { diagnostic: { ...rest, message: `in partial "${id}": ${diagnostic.message}` }, wanted }
}
