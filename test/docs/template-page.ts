import { type Syntax } from '../../src/template/language.ts'

/** A template of the page with what stands above and below it. */
export interface Example {
  readonly heading: string
  readonly syntax: Syntax
  readonly template: string
  /** JSON */
  readonly variables: string
  readonly output: string
}

/** A point of a list of differences; outputs are as they come, `error` where the render ends in one. */
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
 * The examples of the page, from its fenced blocks: `json` has the variables for the
 * templates below it, up to the next heading; `text` has the output of the templates since the last one.
 */
export function examplesIn (page: string): Example[] {
  const examples: Example[] = []
  let heading = ''
  let variables = '{}'
  let waiting: Array<{ syntax: Syntax, template: string }> = []
  for (const [, title, kind = '', body = ''] of page.matchAll(/^#+ (.*)$|^```([a-z]+)\n([\s\S]*?)^```$/gm)) {
    const syntax = SYNTAXES.get(kind)
    if (title !== undefined) [heading, variables] = [title, '{}']
    else if (kind === 'json') variables = body
    else if (syntax !== undefined) waiting.push({ syntax, template: body.slice(0, -1) })
    else if (kind === 'text') {
      for (const each of waiting) examples.push({ ...each, heading, variables, output: body.slice(0, -1) })
      waiting = []
    }
  }
  return examples
}

/** The points of one of the page's lists of differences: what, the template, the variables if any, and two outputs. */
export function differencesIn (page: string, syntax: Syntax): Difference[] {
  const list = new RegExp(`<!-- ${syntax} differences -->\\n(.*?)<!-- end -->`, 's').exec(page)?.[1] ?? ''
  return Array.from(list.matchAll(/^- (.*?) (`[^`]*\{\{[^`]*`)(?: `([^`]*)`)?: (.*) → (.*)$/gm), ([, what = '', template = '', variables = '{}', theirs = '', ours = '']) =>
    ({ what, template: plain(template), variables, theirs: plain(theirs), ours: plain(ours) }))
}

/** What an output says, without its marks: `(empty)` is the empty text. */
function plain (cell: string): string {
  return cell === '(empty)' ? '' : cell.replace(/^(\d+ )?`(.*)`$/, '$1$2')
}
