import { DIAGNOSTIC_TABLE } from '../src/registry/diagnostic-table.ts'

/** The page of the docs that explains all codes, in Markdown. */
export function documentDiagnostics (): string {
  const items = [...DIAGNOSTIC_TABLE].map(([code, { severity, meaning }]) => `- \`${code}\` (${severity}): ${meaning}`)
  return [
    '# Diagnostics',
    '',
    'What the service notices about what is registered: in `GET /api/status/entries`, in the details of a prompt, an extension or a tool, and in the reply of',
    '`POST /api/lint`. Codes are stable. An `error` keeps an entry or a prompt from running; a `warning` is most likely a mistake; a `hint` is advice.',
    '',
    'Each has a `hint` that says what to do, with near names that the caller may know of. `line` and `column`, from 1, are in the template; of `VALUE_INVALID`',
    'in the file or stored text; of a field in the JSON that was sent to publish or lint it, else 1:1. `messageIndex` counts messages from 0.',
    '',
    ...items,
    ''
  ].join('\n')
}
