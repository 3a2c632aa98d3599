import { type TemplateFunction } from '../src/template/functions/function.ts'
import { FORMS } from '../src/template/functions/forms.ts'
import { FUNCTIONS } from '../src/template/functions/functions.ts'

type Documented = Pick<TemplateFunction, 'name' | 'parameters' | 'summary' | 'example'>

const INTRODUCTION = `# Functions

Both template languages have these functions. The value that a function works on is its last argument, which is where
a Go pipeline puts it: \`{{ .variables.tags | join ", " }}\`. In Handlebars, a call within a call stands in parentheses:
\`{{upper (join ", " variables.tags)}}\`. Null and nothing count as the empty text and the empty list.

In Handlebars, a function's name without arguments is a path like any other: \`{{date}}\` is the variable \`date\`.
`

/** The reference of all functions, as Markdown. */
export function documentFunctions (): string {
  return [
    INTRODUCTION,
    '## Texts, lists, JSON and time\n',
    ...Array.from(FUNCTIONS.values(), documentOne),
    '## Conditions, comparisons and access\n',
    ...FORMS.map(documentOne)
  ].join('\n')
}

function documentOne ({ name, parameters, summary, example }: Documented): string {
  return [
    `### \`${name} ${parameters}\`\n`,
    `${summary}\n`,
    `With \`${JSON.stringify(example.variables)}\`, both give \`${JSON.stringify(example.output)}\`:\n`,
    '```',
    example.go,
    example.handlebars,
    '```\n'
  ].join('\n')
}
