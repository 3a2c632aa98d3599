/** Escape sequences for terminals: colours, cursor movements, window titles (ECMA-48; a title ends with BEL or ST). */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]+[0-~]|[0-~])/g

/** Control characters except tab, line feed and carriage return. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g

/** `user@host:path$` and `C:\path>` where a line begins. */
const PROMPT = /(?:[\w.-]+@[\w.-]+:[^\s$#]*[$#]|[A-Za-z]:\\(?:[^<>|"]*[^<>|"=-])?>)[ \t]*/y

const BANNER = /^(?:Microsoft Windows \[|\(c\) (?:Microsoft Corporation|Корпорация Майкрософт))/i

/**
 * The output of a command as a model reads it: no escapes, no prompts, no banners, no empty lines, and of equal lines in a row
 * only one. Equal lines further apart stay, and so do leading spaces: both are data. Takes linear time.
 * @param command the command; its echo in the first line is left out
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

/** The visible text of a line with carriage returns: a progress bar overwrites itself. */
function lastWritten (line: string): string {
  const text = line.trimEnd()
  return text.slice(text.lastIndexOf('\r') + 1)
}

function withoutPrompts (line: string): string {
  let from = 0
  for (PROMPT.lastIndex = 0; PROMPT.test(line);) from = PROMPT.lastIndex
  return from === 0 ? line : line.slice(from)
}
