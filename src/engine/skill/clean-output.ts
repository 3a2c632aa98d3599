/** Escape sequences for terminals: colours, cursor movements, window titles (ECMA-48; a title ends with BEL or ST). */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]+[0-~]|[0-~])/g

/** Control characters except tab, line feed and carriage return. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g

/** A shell's prompt at the beginning of a line: `user@host:path$` or `C:\path>`. */
const PROMPT = /(?:[\w.-]+@[\w.-]+:[^\s$#]*[$#]|[A-Za-z]:\\(?:[^<>|"]*[^<>|"=-])?>)[ \t]*/y

const BANNER = /^(?:Microsoft Windows \[|\(c\) (?:Microsoft Corporation|Корпорация Майкрософт))/i

/**
 * Cleans the output of a command for a model: removes escape sequences, shell prompts, banners and empty lines, and keeps only one of
 * equal neighbouring lines. Equal lines further apart stay, and so do leading spaces, because both are data. Takes linear time.
 * @param command the command, whose echo in the first line is removed
 */
export function cleanOutputForAI (output: string, command = ''): string {
  const lines: string[] = []
  for (const raw of output.replace(ESCAPES, '').split('\n')) {
    const line = withoutPrompts(lastWritten(raw).replace(CONTROLS, '')).trimEnd()
    if (line === '' || line === lines.at(-1) || BANNER.test(line)) continue
    lines.push(line)
  }
  if (command !== '' && lines[0] === command.trim()) lines.shift()
  return lines.length === 0 ? '(no output)' : lines.join('\n')
}

/** The part of a line after its last carriage return: what a terminal shows when a progress bar overwrites itself. */
function lastWritten (line: string): string {
  const text = line.trimEnd()
  return text.slice(text.lastIndexOf('\r') + 1)
}

function withoutPrompts (line: string): string {
  let from = 0
  for (PROMPT.lastIndex = 0; PROMPT.test(line);) from = PROMPT.lastIndex
  return from === 0 ? line : line.slice(from)
}
