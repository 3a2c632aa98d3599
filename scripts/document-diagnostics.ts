import { DIAGNOSTIC_TABLE } from '../src/registry/diagnostic/diagnostic-table.ts'

/** The page of the docs that explains all codes, in Markdown. */
export function documentDiagnostics (): string {
  const rows = [...DIAGNOSTIC_TABLE].map(([code, { severity, meaning }]) => `| \`${code}\` | ${severity} | ${meaning.replaceAll('|', '\\|')} |`)
  return [
    '# Diagnostics',
    '',
    'What the service notices about what is registered: in `GET /api/status/entries`, in the details of a prompt, an extension or a tool, and in the reply of',
    '`POST /api/lint`. Codes are stable. An `error` keeps an entry or a prompt from running; a `warning` is most likely a mistake; a `hint` is advice.',
    '',
    'Each has a `hint` that says what to do, for a name that nothing answers to also what is nearly called so, as far as the caller may know of it. `line` and',
    '`column`, both from 1, are in the template; of `VALUE_INVALID` in the file or the stored text. A field has its place in the JSON that was sent to publish or',
    'lint it; elsewhere, what concerns a field or the whole entry is at 1:1. `messageIndex` counts the messages of a prompt that has several, from 0.',
    '',
    '| code | severity | what it means |',
    '|---|---|---|',
    ...rows,
    ''
  ].join('\n')
}
