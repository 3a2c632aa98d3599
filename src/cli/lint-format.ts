import { inOneLine } from '../base/text.ts'
import { type Output } from './output.ts'

/** A diagnostic about a file, with its place in the file. */
export interface Finding {
  /** The path of the file, relative to the working directory of the user. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint: string
}

/** How findings are printed: for people, for programs, or as annotations of GitHub's workflows. */
export type LintFormat = 'text' | 'json' | 'github'

/** GitHub's words for the severities of findings. */
const COMMANDS = { error: 'error', warning: 'warning', hint: 'notice' } as const

/** Prints the findings of a lint. */
export async function printFindings (findings: readonly Finding[], format: LintFormat, output: Output): Promise<void> {
  if (output.wantsJson || format === 'json') return await output.json(findings.map(finding => ({ ...finding })))
  for (const finding of findings) await output.text(format === 'github' ? annotationOf(finding) : lineOf(finding))
}

function lineOf ({ file, line, column, severity, code, message, hint }: Finding): string {
  return inOneLine(`${file}:${line}:${column}: ${severity}: ${message} (${code})${hint === '' ? '' : `; ${hint}`}`)
}

/** A finding as an annotation: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands */
export function annotationOf ({ file, line, column, severity, code, message, hint }: Finding): string {
  const place = `file=${property(file)},line=${line},col=${column}`
  return `::${COMMANDS[severity]} ${place},title=${property(code)}::${data(hint === '' ? message : `${message}; ${hint}`)}`
}

function data (text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property (text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
