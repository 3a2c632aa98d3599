import { type Syntax } from '../../src/template/language.ts'

/** A template of the page with what stands above and below it. */
export interface Example {
  readonly heading: string
  readonly syntax: Syntax
  readonly template: string
  /** JSON */
  readonly variables: string
  /** Further fields of the prompt, as YAML. */
  readonly fields: string
  readonly output: string
}

/** A row of a table of differences; outputs are as they come, `error` where the render ends in one. */
export interface Difference {
  readonly what: string
  readonly template: string
  /** JSON */
  readonly variables: string
  readonly theirs: string
  readonly ours: string
}

const SYNTAXES: ReadonlyMap<string, Syntax> = new Map([['gotmpl', 'go'], ['handlebars', 'handlebars']])

/**
 * The examples of the page, from its fenced blocks: `json` has the variables and `yaml` the prompt's fields for the
 * templates below them, up to the next heading; `text` has the output of the templates since the last one.
 */
export function examplesIn (page: string): Example[] {
  const examples: Example[] = []
  let heading = ''
  let variables = '{}'
  let fields = ''
  let waiting: Array<{ syntax: Syntax, template: string }> = []
  for (const [, title, kind = '', body = ''] of page.matchAll(/^#+ (.*)$|^```([a-z]+)\n([\s\S]*?)^```$/gm)) {
    const syntax = SYNTAXES.get(kind)
    if (title !== undefined) [heading, variables, fields] = [title, '{}', '']
    else if (kind === 'json') variables = body
    else if (kind === 'yaml') fields = body
    else if (syntax !== undefined) waiting.push({ syntax, template: body.slice(0, -1) })
    else if (kind === 'text') {
      for (const each of waiting) examples.push({ ...each, heading, variables, fields, output: body.slice(0, -1) })
      waiting = []
    }
  }
  return examples
}

/** The rows of one of the page's tables of differences. */
export function differencesIn (page: string, syntax: Syntax): Difference[] {
  const table = new RegExp(`<!-- ${syntax} differences -->\\n(.*?)<!-- end -->`, 's').exec(page)?.[1] ?? ''
  return table.trim().split('\n').slice(2).map(row => {
    const [what = '', template = '', variables = '', theirs = '', ours = ''] = row.slice(2, -2).split(/ (?<!\\)\| /).map(cell => cell.replaceAll('\\|', '|'))
    return { what, template: plain(template), variables: plain(variables), theirs: plain(theirs), ours: plain(ours) }
  })
}

/** What a cell says, without its marks: `(empty)` is the empty text. */
function plain (cell: string): string {
  return cell === '(empty)' ? '' : cell.replace(/^(\d+ )?`(.*)`$/, '$1$2')
}
