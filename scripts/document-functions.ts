import { type TemplateFunction } from '../src/template/functions/function.ts'
import { FORMS } from '../src/template/functions/forms.ts'
import { FUNCTIONS } from '../src/template/functions/functions.ts'

type Documented = Pick<TemplateFunction, 'name' | 'parameters' | 'summary' | 'example'>

const INTRODUCTION = `# Functions

Both template languages have these functions. What a function works on is its last argument, where a Go pipeline puts it. Null and nothing count as the
empty text and the empty list. Examples are in Handlebars, and end in what they give; each goes in Go, too:

| Handlebars | Go |
|---|---|
| \`{{join ", " variables.tags}}\` | \`{{join ", " .variables.tags}}\`, or \`{{.variables.tags \\| join ", "}}\` |
| \`{{upper (join ", " variables.tags)}}\` | \`{{.variables.tags \\| join ", " \\| upper}}\` |
| \`{{#if (eq variables.mode "fast")}}…{{/if}}\` | \`{{if eq .variables.mode "fast"}}…{{end}}\` |
| \`{{#each (split "," variables.files)}}{{this}}{{/each}}\` | \`{{range split "," .variables.files}}{{.}}{{end}}\` |

In Handlebars, a function's name without arguments is a path like any other: \`{{date}}\` is the variable \`date\`.
`

/** The reference of all functions, as Markdown. */
export function documentFunctions (): string {
  return [
    INTRODUCTION,
    '## Texts, lists, JSON and time\n',
    tableOf([...FUNCTIONS.values()]),
    '## Conditions, comparisons and access\n',
    tableOf(FORMS)
  ].join('\n')
}

function tableOf (functions: readonly Documented[]): string {
  const rows = functions.map(({ name, parameters, summary, example }) => {
    const cells = [`\`${name} ${parameters}\``, summary, `\`${JSON.stringify(example.variables)}\``, `\`${example.handlebars}\` → \`${JSON.stringify(example.output)}\``]
    return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return ['| function | what it gives | variables | example |', '|---|---|---|---|', ...rows, ''].join('\n')
}
