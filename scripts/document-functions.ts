import { type TemplateFunction } from '../src/template/template-function.ts'
import { FORMS } from '../src/template/function-forms.ts'
import { FUNCTIONS } from '../src/template/functions.ts'

type Documented = Pick<TemplateFunction, 'name' | 'parameters' | 'summary' | 'example'>

const INTRODUCTION = `# Functions

Both template languages have these functions. What a function works on is its last argument, where a Go pipeline puts it; \`eq\`, \`lt\`, \`index\` and their like take theirs first, as in Go. Null and nothing count as the
empty text and the empty list. Examples are in Handlebars, with their variables and what they give; each goes in Go, too:

- \`{{upper (join ", " variables.tags)}}\`: \`{{upper (join ", " .variables.tags)}}\`, or \`{{.variables.tags | join ", " | upper}}\`
- \`{{#if (eq variables.mode "fast")}}…{{/if}}\`: \`{{if eq .variables.mode "fast"}}…{{end}}\`
- \`{{#each (split "," variables.files)}}{{this}}{{/each}}\`: \`{{range split "," .variables.files}}{{.}}{{end}}\`

In Handlebars, a function's name without arguments is a variable: \`{{date}}\`.
`

/** The reference of all functions, as Markdown. */
export function documentFunctions (): string {
  return [
    INTRODUCTION,
    '## Texts, lists, JSON and time\n',
    listOf([...FUNCTIONS.values()]),
    '## Conditions, comparisons and access\n',
    listOf(FORMS)
  ].join('\n')
}

/** The functions that the console completes: each with its parameters. */
export function tableOfFunctions (): string {
  return table(({ parameters }) => parameters)
}

/** What the console says of the functions in English: without links, which lead nowhere there. */
export function summariesOfFunctions (): string {
  return table(({ summary }) => summary.replaceAll(/\[([^\]]+)\]\([^)]+\.md[^)]*\)/g, '$1'))
}

function table (of: (each: Documented) => string): string {
  return `${JSON.stringify(Object.fromEntries([...FUNCTIONS.values(), ...FORMS].map(each => [each.name, of(each)])), null, 2)}\n`
}

function listOf (functions: readonly Documented[]): string {
  const points = functions.map(({ name, parameters, summary, example }) =>
    `- \`${name} ${parameters}\`: ${summary} \`${example.handlebars}\` \`${JSON.stringify(example.variables)}\` → \`${JSON.stringify(example.output)}\``)
  return [...points, ''].join('\n')
}
