import { type Bomb } from './bomb.ts'

const invalid = [400, 'TEMPLATE_SYNTAX'] as const
const unlinked = [400, 'TEMPLATE_LINK'] as const
const MOST_BYTES = 60 * 1024
const fill = (piece: string): string => piece.repeat(Math.floor(MOST_BYTES / piece.length))
const tags = (count: number, tag: (index: number) => string): string => Array.from({ length: count }, (_, index) => tag(index)).join('')

/** What must be refused before a parser sees it, or be compiled in no time. Those that could be compiled end in a mistake. */
export const LOAD_BOMBS: readonly Bomb[] = [
  { name: 'nested_blocks', go: fill('{{if .a}}'), handlebars: fill('{{#a}}'), outcome: invalid },
  { name: 'nested_blocks_that_end', go: '{{if .a}}'.repeat(990) + '{{end}}'.repeat(990), handlebars: '{{#a}}'.repeat(990) + '{{/a}}'.repeat(990), outcome: invalid },
  { name: 'many_tags', go: '{{.a}}'.repeat(100_000), handlebars: '{{a}}'.repeat(100_000), outcome: invalid },
  { name: 'many_short_tags', go: '{{1}}'.repeat(5000), handlebars: '{{a}}'.repeat(5000), outcome: invalid },
  { name: 'long_source', go: 'x'.repeat(500_000), handlebars: 'x'.repeat(500_000), outcome: invalid },
  { name: 'parentheses', go: `{{${'('.repeat(20_000)}1${')'.repeat(20_000)}}}`, handlebars: `{{x ${'(len '.repeat(9000)}1${')'.repeat(9000)}}}`, outcome: invalid },
  { name: 'else_chain', go: `{{if .a}}${'{{else if .a}}'.repeat(1900)}{{end}}`, handlebars: `{{#if a}}${'{{else if a}}'.repeat(1900)}{{/if}}`, outcome: invalid },
  { name: 'unclosed_tags', go: fill('{{ '), handlebars: fill('{{ '), outcome: invalid },
  { name: 'unclosed_texts', go: fill('{{"'), handlebars: fill('{{"'), outcome: invalid },
  { name: 'unclosed_comments', go: fill('{{/*'), handlebars: fill('{{!--'), outcome: invalid },
  { name: 'long_path', go: `{{.variables${fill('.a')}}}`, handlebars: `{{variables${fill('.a')}}}`, outcome: invalid },
  { name: 'long_path_that_is_allowed', go: `{{.variables${'.a'.repeat(4900)}}}{{end}}`, handlebars: `{{variables${'.a'.repeat(4900)}}}{{/if}}`, outcome: invalid },
  { name: 'many_arguments', go: `{{and${fill(' 1')}}}`, handlebars: `{{and${fill(' 1')}}}`, outcome: invalid },
  { name: 'many_arguments_that_are_allowed', go: `{{and${' 1'.repeat(9900)}}}{{undefined}}`, handlebars: `{{undefined${' 1'.repeat(9900)}}}`, outcome: unlinked },
  { name: 'long_pipe', go: `{{1${'|print'.repeat(4900)}}}`, outcome: invalid },
  { name: 'long_pipe_that_is_allowed', go: `${`{{1${'|print'.repeat(100)}}}`.repeat(40)}{{undefined}}`, outcome: unlinked },
  { name: 'many_variables', go: `${tags(1990, index => `{{$v${index} := 1}}`)}{{undefined}}`, outcome: unlinked },
  { name: 'many_assignments', go: `${tags(900, index => `{{$v${index} := 1}}`)}${'{{if true}}'.repeat(99)}${tags(900, index => `{{$v${index} = 1}}`)}{{undefined}}${'{{end}}'.repeat(99)}`, outcome: unlinked },
  { name: 'many_unknown_names', go: tags(1990, index => `{{nosuch${index} 1}}`), handlebars: tags(1990, index => `{{nosuch${index} 1}}`), outcome: unlinked }
]
