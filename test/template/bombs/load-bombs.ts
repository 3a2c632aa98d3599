import { type Bomb } from './bomb.ts'

const invalid = [400, 'TEMPLATE_SYNTAX'] as const
const kilobytes = 60 * 1024
const fill = (piece: string): string => piece.repeat(Math.floor(kilobytes / piece.length))

/** What must be refused before a parser sees it, or be parsed in no time. */
export const LOAD_BOMBS: readonly Bomb[] = [
  { name: 'nested_blocks', go: fill('{{if .a}}'), handlebars: fill('{{#a}}'), outcome: invalid },
  { name: 'nested_blocks_that_end', go: `${'{{if .a}}'.repeat(3000)}${'{{end}}'.repeat(3000)}`, handlebars: `${'{{#a}}'.repeat(3000)}${'{{/a}}'.repeat(3000)}`, outcome: invalid },
  { name: 'many_tags', go: '{{.a}}'.repeat(100_000), handlebars: '{{a}}'.repeat(100_000), outcome: invalid },
  { name: 'many_short_tags', go: '{{1}}'.repeat(5000), handlebars: '{{a}}'.repeat(5000), outcome: invalid },
  { name: 'long_source', go: 'x'.repeat(500_000), handlebars: 'x'.repeat(500_000), outcome: invalid },
  { name: 'parentheses', go: `{{${'('.repeat(20_000)}1${')'.repeat(20_000)}}}`, handlebars: `{{x ${'(len '.repeat(9000)}1${')'.repeat(9000)}}}`, outcome: invalid },
  { name: 'else_chain', go: `{{if .a}}${'{{else if .a}}'.repeat(1900)}{{end}}`, handlebars: `{{#if a}}${'{{else if a}}'.repeat(1900)}{{/if}}`, outcome: invalid },
  { name: 'unclosed_tags', go: fill('{{ '), handlebars: fill('{{ '), outcome: invalid },
  { name: 'unclosed_texts', go: fill('{{"'), handlebars: fill('{{"'), outcome: invalid },
  { name: 'unclosed_comments', go: fill('{{/*'), handlebars: fill('{{!--'), outcome: invalid },
  { name: 'long_field', go: `{{.variables${fill('.a')}}}`, handlebars: `{{variables${fill('.a')}}}`, outcome: [400, 'VARIABLE_MISSING'] },
  { name: 'many_arguments', go: `{{and${fill(' 1')}}}${'{{end}}'}`, handlebars: `{{and${fill(' 1')}}}{{/if}}`, outcome: invalid },
  { name: 'many_arguments_of_a_tool', go: `{{bombs_none${fill(' 1')}}}`, handlebars: `{{bombs_none${fill(' 1')}}}`, outcome: [400, 'TEMPLATE_LINK'] },
  { name: 'long_pipe', go: `{{1${fill('|print')}}}{{end}}`, outcome: invalid },
  { name: 'many_variables', go: `${Array.from({ length: 1990 }, (_, index) => `{{$v${index} := 1}}`).join('')}{{end}}`, outcome: invalid },
  { name: 'many_assignments', go: `${Array.from({ length: 900 }, (_, index) => `{{$v${index} := 1}}`).join('')}${'{{if true}}'.repeat(99)}${Array.from({ length: 900 }, (_, index) => `{{$v${index} = 1}}`).join('')}${'{{end}}'.repeat(100)}`, outcome: invalid },
  { name: 'many_unknown_names', go: Array.from({ length: 1990 }, (_, index) => `{{nosuch${index} 1}}`).join(''), handlebars: Array.from({ length: 1990 }, (_, index) => `{{nosuch${index} 1}}`).join(''), outcome: [400, 'TEMPLATE_LINK'] }
]
