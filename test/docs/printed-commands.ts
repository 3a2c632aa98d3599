import { readdirSync, readFileSync } from 'node:fs'

/** Commands that a page prints, as a reader pastes them. */
export interface PrintedCommands {
  readonly page: string
  /** Of the page, where they begin, from 1. */
  readonly line: number
  readonly script: string
  /** What the page prints below them; nothing where it shows no output. */
  readonly output: string | undefined
  readonly isJson: boolean
  /** Why they are not run: a comment right above them, `<!-- not run: … -->`. */
  readonly notRun: string | undefined
}

/** A file that a page tells its reader to write: a block of YAML, and above it the name in a line that ends with `:`. */
export interface PrintedFile { readonly line: number, readonly path: string, readonly content: string }

/** Where readers find commands to paste. The README's edit an example that other pages show as it is. */
export const PAGES: readonly string[] = [...readdirSync('docs').filter(file => file.endsWith('.md')).sort().map(file => `docs/${file}`), 'README.md']

const COMMANDS = /(?:^<!-- not run: ([^\n]+) -->\n)?^```sh\n(.*?)^```\n(?:\n```(json|diff|)(?: \w+)?\n(.*?)^```$)?/gms

const FILE = /^[^\n]*`([\w./-]+)`[^\n]*:\n\n```yaml file\n(.*?)^```$/gms

/** A line of an indented block that begins as a command does: what is pasted stands in a fence. */
const UNFENCED = /^ {4}(?:[A-Z_]+=\S+ )*(?:npx|npm|node|curl|docker|kubectl|redis-cli|printf|aps) .*$/gm

/** All commands of a page, in their order. */
export function commandsIn (page: string): PrintedCommands[] {
  const text = readFileSync(page, 'utf8')
  return Array.from(text.matchAll(COMMANDS), ({ index, 1: notRun, 2: script = '', 3: language, 4: output }) => ({ page, line: lineAt(text, index), script, output, isJson: language === 'json', notRun }))
}

/** The files that a page tells its reader to write. */
export function filesIn (page: string): PrintedFile[] {
  const text = readFileSync(page, 'utf8')
  return Array.from(text.matchAll(FILE), ({ index, 1: path = '', 2: content = '' }) => ({ line: lineAt(text, index), path, content }))
}

/** Commands of a page that stand in no fence, where nothing finds them. */
export function unfencedIn (page: string): string[] {
  return readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, '').match(UNFENCED) ?? []
}

function lineAt (text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
