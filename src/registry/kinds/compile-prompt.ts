import { type FailingPart, type PathNeed, type Reference, type Syntax, type UnreachablePart } from '../../template/language.ts'
import { detectSyntax, findForeignSign, findMisread, mistakeInHandlebars, type SyntaxSign } from '../../template/detect-syntax.ts'
import { prescan } from '../../template/prescan.ts'
import { asMistake, type Diagnostic, ifMisjudged, inNeither, describeDiagnostic, LANGUAGE_NAMES } from '../diagnostic.ts'
import type { PromptDefinition, PromptText } from './prompt-definition.ts'
import { type Slices } from '../../runtime/event-loop.ts'
import { type PreparedTemplate, type TemplateCache } from '../entries/template-cache.ts'

/** What compiling one text of a prompt has found in it, such as the names that it refers to. `template` gives the compiled template, from a cache. */
export interface CompiledText extends Pick<PromptText, 'where'> {
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly hasMorePaths: boolean
  readonly unreachable: readonly UnreachablePart[]
  readonly failing: readonly FailingPart[]
  readonly template: PreparedTemplate
}

/** The outcome of compiling a prompt: its texts, or why it is invalid. */
export interface CompiledPrompt {
  readonly syntax: Syntax | undefined
  /** The compiled texts, in the order in which the prompt has them. */
  readonly texts: readonly CompiledText[]
  /** Errors when the prompt is invalid; then `texts` is empty. */
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Decides in which language a prompt's texts are written, and compiles each text once to find its mistakes and the names that it refers to. It works
 * in slices, so that a large prompt does not block the process.
 */
export async function compilePrompt (
  definition: PromptDefinition,
  declared: ReadonlySet<string> | undefined,
  cache: TemplateCache,
  slices: Slices
): Promise<CompiledPrompt> {
  const { texts } = definition
  const tooLarge = await attempt(texts, ({ text }) => { prescan(text) }, slices)
  if (tooLarge.length > 0) return { syntax: definition.syntax, texts: [], diagnostics: tooLarge.map(toDiagnostic) }

  const detected = definition.syntax === undefined
    ? await detectSyntax(
      texts.map(({ text }) => text),
      async () => { if (slices.isDue()) await slices.pause() }
    )
    : { syntax: definition.syntax }
  if ('mixed' in detected) return { syntax: undefined, texts: [], diagnostics: [mixedSyntax(detected.mixed, texts)] }

  const compiled: CompiledText[] = []
  const mistakes = await attempt(texts, ({ text, where }) => {
    const template = cache.prepare(detected.syntax, { text, ...(declared === undefined ? {} : { declared }) })
    const { references, paths, hasMorePaths = false, unreachable = [], failing = [] } = template(false)
    compiled.push({ where, references, paths, hasMorePaths, unreachable, failing, template })
  }, slices, detected.syntax, definition.syntax)
  if (mistakes.length > 0) {
    return {
      syntax: detected.syntax,
      texts: [],
      diagnostics: definition.syntax === undefined && detected.syntax === 'go' ? judgeAnew(texts, mistakes) : mistakes.map(toDiagnostic)
    }
  }
  return { syntax: detected.syntax, texts: compiled, diagnostics: definition.syntax === 'handlebars' ? texts.flatMap(lintMisread) : [] }
}

/** A mistake in one of a prompt's texts, together with that text. */
interface MistakeIn {
  readonly diagnostic: Diagnostic
  readonly text: PromptText
}

function toDiagnostic ({ diagnostic }: MistakeIn): Diagnostic {
  return diagnostic
}

/** Runs one step over all texts of a prompt, and gathers the syntax errors that it throws. */
async function attempt (
  texts: readonly PromptText[],
  step: (text: PromptText) => void,
  slices: Slices,
  read?: Syntax,
  declared?: Syntax
): Promise<MistakeIn[]> {
  const mistakes: MistakeIn[] = []
  for (const text of texts) {
    try {
      step(text)
    } catch (error) {
      const { message, line, column } = asMistake(error)
      const diagnostic: Diagnostic = {
        severity: 'error',
        code: 'SYNTAX',
        message,
        ...text.where,
        line,
        column,
        ...(declared === undefined ? assumedHint(read) : foreignHint(text.text, line, declared))
      }
      mistakes.push({ diagnostic, text })
    }
    if (slices.isDue()) await slices.pause()
  }
  return mistakes
}

function assumedHint (read: Syntax | undefined): Pick<Diagnostic, 'hint'> {
  return read === undefined ? {} : { hint: `correct the template at that place; ${ifMisjudged(read)}` }
}

/**
 * Rewrites the syntax errors of a prompt whose author has not said which template language it is in, and whose texts do not show it. Such a text is
 * read as Go when it is no valid Handlebars. When it is no valid Go either, the diagnostic tells both mistakes.
 */
function judgeAnew (texts: readonly PromptText[], mistakes: readonly MistakeIn[]): Diagnostic[] {
  const hasSign = texts.some(({ text }) => findForeignSign(text, 'handlebars') !== undefined)
  return mistakes.map(({ diagnostic, text: { text } }) => {
    const { message, line = 1, column = 1 } = diagnostic
    const other = hasSign ? undefined : mistakeInHandlebars(text)
    return other === undefined
      ? diagnostic
      : {
          ...diagnostic,
          message: inNeither({ message, line, column }, asMistake(other)),
          hint: 'correct the template, in one of the languages'
        }
  })
}

/**
 * A hint that a mistake is most likely syntax of the other template language. In Handlebars, where some syntax of Go reads as a name, the mistake can show
 * before or after that syntax: a block that is closed with `{{end}}` counts as not closed.
 */
function foreignHint (text: string, line: number, declared: Syntax): Pick<Diagnostic, 'hint'> {
  const sign = findForeignSign(text, declared)
  if (sign === undefined || (declared === 'go' && sign.line !== line)) return {}
  const [is, other] = [LANGUAGE_NAMES[declared], LANGUAGE_NAMES[declared === 'go' ? 'handlebars' : 'go']]
  const form = `"${sign.form}"${sign.line === line ? '' : ` at line ${sign.line}`}`
  return { hint: `${form} is ${other} syntax, and the prompt says "syntax": "${declared}": write it in ${is}, or say the other` }
}

/** Warns of Go syntax that Handlebars reads as paths or names. The opposite needs no warning, since Handlebars syntax is a mistake in Go. */
function lintMisread ({ text, where }: PromptText): Diagnostic[] {
  const sign = findMisread(text)
  if (sign === undefined) return []
  const { form, line, column } = sign
  return [{
    severity: 'warning',
    code: 'SYNTAX_FOREIGN',
    message: `"${form}" is Go syntax, and means something else in Handlebars`,
    ...where,
    line,
    column,
    hint: 'write it in Handlebars, or say "syntax": "go"'
  }]
}

/**
 * The diagnostic of a prompt that mixes both template languages. `signs` are two places in the texts: one can only be Go, the other only Handlebars. The
 * diagnostic points at the later place, since the earlier one is more likely in the language that the author meant.
 */
function mixedSyntax (signs: readonly [SyntaxSign, SyntaxSign], texts: readonly PromptText[]): Diagnostic {
  const [go, handlebars] = signs
  const [first, later] = isBefore(go, handlebars) ? [go, handlebars] : [handlebars, go]
  const place = ({ text, line, column }: SyntaxSign) => ({ ...texts[text]?.where, line, column })
  const message = `the text has forms of both languages: ${describeDiagnostic({ message: `"${first.form}"`, ...place(first) })}, and "${later.form}"`
  return {
    severity: 'error',
    code: 'SYNTAX_MIXED',
    message,
    ...place(later),
    hint: 'write all of it in one of them; where the other is only text, add "syntax": "go" or "syntax": "handlebars" to the prompt'
  }
}

function isBefore (a: SyntaxSign, b: SyntaxSign): boolean {
  return (a.text - b.text || a.line - b.line || a.column - b.column) < 0
}
