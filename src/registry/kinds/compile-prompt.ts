import { type FailingPart, type PathNeed, type Reference, type Syntax, type UnreachablePart } from '../../template/language.ts'
import { detectSyntax, findForeignSign, findMisread, mistakeInHandlebars, type SyntaxSign } from '../../template/detect-syntax.ts'
import { prescan } from '../../template/prescan.ts'
import { asMistake, type Diagnostic, ifMisjudged, inNeither, describeDiagnostic, LANGUAGE_NAMES } from '../diagnostic.ts'
import type { PromptDefinition, PromptText } from './prompt-definition.ts'
import { type Slices } from '../../runtime/event-loop.ts'
import { type PreparedTemplate, type TemplateCache } from '../entries/template-cache.ts'

export interface CompiledText extends Pick<PromptText, 'where'> {
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly hasMorePaths: boolean
  readonly unreachable: readonly UnreachablePart[]
  readonly failing: readonly FailingPart[]
  readonly template: PreparedTemplate
}

export interface CompiledPrompt {
  readonly syntax: Syntax | undefined
  readonly texts: readonly CompiledText[]
  readonly diagnostics: readonly Diagnostic[]
}

/** In slices, so that a large prompt does not block the process. */
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
    const template = cache.prepare(detected.syntax, { text, declared })
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

interface MistakeIn {
  readonly diagnostic: Diagnostic
  readonly text: PromptText
}

function toDiagnostic ({ diagnostic }: MistakeIn): Diagnostic {
  return diagnostic
}

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

/** For an undeclared language: a text is read as Go when it is no Handlebars; when it is neither, both mistakes are told. */
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

/** In Handlebars the mistake can show before or after the Go syntax: `{{end}}` leaves a block unclosed. */
function foreignHint (text: string, line: number, declared: Syntax): Pick<Diagnostic, 'hint'> {
  const sign = findForeignSign(text, declared)
  if (sign === undefined || (declared === 'go' && sign.line !== line)) return {}
  const [is, other] = [LANGUAGE_NAMES[declared], LANGUAGE_NAMES[declared === 'go' ? 'handlebars' : 'go']]
  const form = `"${sign.form}"${sign.line === line ? '' : ` at line ${sign.line}`}`
  return { hint: `${form} is ${other} syntax, and the prompt says "syntax": "${declared}": write it in ${is}, or say the other` }
}

/** The opposite needs no warning, since Handlebars syntax is a mistake in Go. */
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

/** Points at the later place, since the earlier one is more likely in the language that the author meant. */
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
