import { DIAGNOSTIC_TABLE } from '../src/registry/diagnostic/diagnostic-table.ts'

/** The page of the docs that explains all codes, in Markdown. */
export function documentDiagnostics (): string {
  const rows = [...DIAGNOSTIC_TABLE].map(([code, { severity, meaning, hint }]) => `| \`${code}\` | ${severity} | ${cell(meaning)} | ${cell(hint)} |`)
  return [
    '# Diagnostics',
    '',
    'What the service notices about what is registered: in `GET /api/status/entries`, in the details of a prompt, an',
    'extension or a tool, and in the reply of `POST /api/lint`. Codes are stable. An `error` keeps an entry or a prompt from',
    'running; a `warning` is most likely a mistake; a `hint` is advice.',
    '',
    'A diagnostic has `line` and `column`, both from 1, in the template that it is about; those of `VALUE_INVALID` are in the file',
    'or the stored text. A field has its place in the JSON that was sent to publish or lint it; elsewhere, what concerns a field or the whole',
    'entry is at 1:1. `messageIndex` counts the messages of a prompt that has several, from 0.',
    'Of a name that nothing answers to, `hint` tells what is nearly called so, as far as the caller may know of it.',
    '',
    '| Code | Severity | Meaning | What to do |',
    '| --- | --- | --- | --- |',
    ...rows,
    ''
  ].join('\n')
}

function cell (text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\{(\w+)\}/g, '`{$1}`')
}
