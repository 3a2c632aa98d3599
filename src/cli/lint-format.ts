import { inOneLine } from '../base/text.ts'
import { type Output } from './output.ts'

export interface Finding {
  /** Relative to the user's working directory. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint: string
}

export type LintFormat = 'text' | 'json' | 'github'

const COMMANDS = { error: 'error', warning: 'warning', hint: 'notice' } as const

export async function printFindings (findings: readonly Finding[], format: LintFormat, output: Output): Promise<void> {
  if (output.wantsJson || format === 'json') return await output.json(findings.map(finding => ({ ...finding })))
  for (const finding of findings) await output.text(format === 'github' ? annotationOf(finding) : lineOf(finding))
}

function lineOf ({ file, line, column, severity, code, message, hint }: Finding): string {
  return inOneLine(`${file}:${line}:${column}: ${severity}: ${message} (${code})${hint === '' ? '' : `; ${hint}`}`)
}

/** https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands */
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
