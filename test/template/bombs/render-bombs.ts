import { type Syntax } from '../../../src/template/language.ts'
import { type Bomb } from './bomb.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const list = numbers(200)
const wide = 'x'.repeat(60_000)
const members = Object.fromEntries(numbers(50_000).map(index => [`key${index}`, index]))
const lines = 'x\n'.repeat(100_000)
const records = numbers(20_000).map(index => ({ name: `name ${index * 7919 % 20_000}`, kind: `kind ${index % 5000}` }))
const missing = [400, 'VARIABLE_MISSING'] as const

/** A body within as many loops over a list of 200. */
const loops: Readonly<Record<Syntax, (depth: number, body: string) => string>> = {
  go: (depth, body) => `${'{{range $.variables.list}}'.repeat(depth)}${body}${'{{end}}'.repeat(depth)}`,
  handlebars: (depth, body) => `${'{{#each @root.variables.list}}'.repeat(depth)}${body}${'{{/each}}'.repeat(depth)}`
}

/** A bomb whose body is repeated by loops of 200 each. */
function repeated (name: string, depth: number, bodies: Pick<Bomb, Syntax>, rest: Omit<Bomb, 'name' | Syntax> = {}): Bomb {
  return {
    name,
    ...(bodies.go === undefined ? {} : { go: loops.go(depth, bodies.go) }),
    ...(bodies.handlebars === undefined ? {} : { handlebars: loops.handlebars(depth, bodies.handlebars) }),
    ...rest,
    variables: { list, ...rest.variables }
  }
}

/** A call of a partial of the same bomb. */
function include (syntax: Syntax, name: string): string {
  return syntax === 'go' ? `{{template "${name}_go" .}}` : `{{> ${name}_handlebars}}`
}

/** Prompts that call each other: what the partial called `name` includes, and how often. */
function chain (steps: number, times: number): NonNullable<Bomb['partials']> {
  return syntax => Object.fromEntries(numbers(steps).map(index => [`p${index}`, index === steps - 1 ? 'x' : include(syntax, `p${index + 1}`).repeat(times)]))
}

const nested = (syntax: Syntax, depth: number, body: string): string => syntax === 'go'
  ? `${'{{if true}}'.repeat(depth)}${body}${'{{end}}'.repeat(depth)}`
  : `${'{{#if true}}'.repeat(depth)}${body}${'{{/if}}'.repeat(depth)}`

const replaced = (depth: number): string => `${'(replace "x" "xx" '.repeat(depth)}"x"${')'.repeat(depth)}`

/** What only a render shows. */
export const RENDER_BOMBS: readonly Bomb[] = [
  // Loops
  repeated('loops_in_loops', 4, { go: 'x', handlebars: 'x' }),
  repeated('empty_loops_in_loops', 4, { go: '', handlebars: '' }),
  { name: 'long_range', go: '{{range 1000000000}}{{end}}' },
  { name: 'long_range_of_a_caller', go: '{{range .variables.count}}x{{end}}', variables: { count: 1_000_000_000 } },
  repeated('range_over_members', 2, { go: '{{range $.variables.members}}{{break}}{{end}}', handlebars: '{{#each @root.variables.members}}{{/each}}' }, { variables: { members } }),
  repeated('misses', 3, { go: '{{$.variables.none}}', handlebars: '{{none}}' }),
  repeated('different_misses', 2, { go: '{{range $key, $value := $.variables.members}}{{index $.variables $key}}{{end}}', handlebars: '{{#each @root.variables.members}}{{lookup @root @key}}{{/each}}' }, { variables: { members } }),
  { name: 'many_different_misses', go: '{{range $key, $value := .variables.members}}{{index $.variables $key}}{{end}}', handlebars: '{{#each variables.members}}{{lookup @root @key}}{{/each}}', variables: { members: Object.fromEntries(numbers(10_000).map(index => [`key${index}`, index])) }, outcome: missing },

  // Templates within templates
  { name: 'doubling_partials', go: include('go', 'p0'), handlebars: include('handlebars', 'p0'), partials: chain(31, 2) },
  { name: 'recursive_partial', outcome: [400, 'TEMPLATE_CYCLE'], go: include('go', 'p'), handlebars: include('handlebars', 'p'), partials: syntax => ({ p: `x${include(syntax, 'p')}` }) },
  { name: 'deep_recursive_partial', outcome: [500, 'RENDER_ENDLESS'], go: include('go', 'p'), handlebars: include('handlebars', 'p'), partials: syntax => ({ p: nested(syntax, 99, include(syntax, 'p')) }) },
  { name: 'mutual_partials', outcome: [400, 'TEMPLATE_CYCLE'], go: include('go', 'p'), handlebars: include('handlebars', 'p'), partials: syntax => ({ p: include(syntax, 'q'), q: include(syntax, 'p') }) },
  { name: 'recursive_define', outcome: [500, 'RENDER_ENDLESS'], go: '{{define "t"}}x{{template "t" .}}{{end}}{{template "t" .}}', handlebars: '{{#*inline "t"}}x{{> t}}{{/inline}}{{> t}}' },
  { name: 'deep_recursive_define', outcome: [500, 'RENDER_ENDLESS'], go: `{{define "t"}}${nested('go', 99, '{{template "t" .}}')}{{end}}{{template "t" .}}`, handlebars: `{{#*inline "t"}}${nested('handlebars', 98, '{{> t}}')}{{/inline}}{{> t}}` },
  { name: 'partial_block_in_itself', outcome: [500, 'RENDER_ENDLESS'], handlebars: '{{#*inline "t"}}{{#> t}}{{> @partial-block}}{{/t}}{{/inline}}{{#> t}}x{{/t}}' },
  { name: 'growing_context', outcome: [400, 'TEMPLATE_CYCLE'], handlebars: '{{> p_handlebars x=1}}', partials: () => ({ p: '{{> p_handlebars x=this y=this}}' }) },
  repeated('partials_with_many_variables', 3, { go: include('go', 'p'), handlebars: include('handlebars', 'p') }, { partials: () => ({ p: 'x' }), parameters: { type: 'object', properties: { tone: { type: 'string', default: 'kind' } } }, variables: members }),

  // Texts
  repeated('wide_padding', 2, { go: '{{len (printf "%1000000d" 1)}}', handlebars: '{{len (indent 80 @root.variables.lines)}}' }, { variables: { lines } }),
  { name: 'wider_padding', go: '{{printf "%*d%*d%*d" 999999 1 999999 1 999999 1}}' },
  repeated('precision', 2, { go: '{{len (printf "%.1000000f" 1.5)}}' }),
  { name: 'doubling_text', go: `{{$text := "x"}}${loops.go(1, '{{$text = print $text $text}}')}`, handlebars: `{{len ${replaced(60)}}}`, variables: { list } },
  { name: 'doubling_output', go: `{{$text := "x"}}${'{{$text = print $text $text}}'.repeat(60)}{{$text}}`, handlebars: `{{${replaced(60).slice(1, -1)}}}` },
  { name: 'replace', go: '{{replace "x" .variables.wide .variables.wide}}', handlebars: '{{replace "x" variables.wide variables.wide}}', variables: { wide } },
  { name: 'indent', go: '{{.variables.lines | indent 80 | indent 80 | indent 80}}', handlebars: '{{indent 80 (indent 80 (indent 80 variables.lines))}}', variables: { lines } },
  { name: 'join', go: '{{join .variables.wide .variables.many}}', handlebars: '{{join variables.wide variables.many}}', variables: { wide, many: numbers(50_000) } },
  repeated('split', 2, { go: '{{len (split "" $.variables.wide)}}', handlebars: '{{len (split "" @root.variables.wide)}}' }, { variables: { wide } }),
  repeated('slices_of_texts', 2, { go: '{{slice $.variables.wide 0 10}}{{len $.variables.wide}}{{index $.variables.wide 1}}', handlebars: '{{truncate 10 @root.variables.wide}}{{upper @root.variables.wide}}' }, { variables: { wide: `ü${wide}` } }),
  repeated('escaping', 2, { go: '{{len (html (js (urlquery $.variables.wide)))}}' }, { variables: { wide: '<"ü'.repeat(20_000) } }),
  repeated('dates', 3, { go: '{{date "YYYY-MM-DD HH:mm:ss.SSS"}}', handlebars: '{{date "YYYY-MM-DD HH:mm:ss.SSS"}}' }),
  repeated('formats', 3, { go: '{{printf "%e%x%q" 1.5 "ab" "ü"}}' }),
  repeated('json', 2, { go: '{{len (json $.variables)}}', handlebars: '{{len (json @root.variables)}}' }, { variables: { members } }),
  repeated('printed_objects', 2, { go: '{{len (print $.variables)}}', handlebars: '{{@root.variables}}' }, { variables: { members } }),

  // Values
  repeated('large_integers', 3, { go: '{{$.variables.large}}', handlebars: '{{@root.variables.large}}' }, { variables: { large: 10n ** 999n } }),
  repeated('equal_texts', 3, { go: '{{eq $.variables.wide $.variables.same}}{{lt $.variables.wide $.variables.same}}', handlebars: '{{eq @root.variables.wide @root.variables.same}}{{lt @root.variables.wide @root.variables.same}}' }, { variables: { wide, same: `${wide}y`.slice(0, -1) } }),
  repeated('equal_trees', 3, { go: '{{eq (json $.variables.members) (json $.variables.members)}}', handlebars: '{{eq (json @root.variables.members) (json @root.variables.members)}}' }, { variables: { members } }),
  repeated('sizes_of_objects', 3, { go: '{{len $.variables.members}}{{if $.variables.members}}{{end}}{{if not $.variables.members}}{{end}}', handlebars: '{{len @root.variables.members}}{{#if @root.variables.members}}{{/if}}' }, { variables: { members } }),
  repeated('sort_by', 2, { go: '{{len (sortBy "name" $.variables.records)}}', handlebars: '{{len (sortBy "name" @root.variables.records)}}' }, { variables: { records: records.slice(0, 15_000) } }),
  repeated('group_by', 2, { go: '{{len (groupBy "kind" $.variables.records)}}', handlebars: '{{len (groupBy "kind" @root.variables.records)}}' }, { variables: { records: records.slice(0, 15_000) } }),
  { name: 'grouped_groups', go: '{{$groups := .variables.records}}{{range slice .variables.list 0 90}}{{$groups = groupBy "key" $groups}}{{end}}{{range $.variables.list}}{{len (json $groups)}}{{end}}', variables: { list, records } },

  // Tools
  repeated('tool_calls', 1, { go: '{{bombs_echo .}}', handlebars: '{{bombs_echo this}}' }),
  repeated('tool_calls_with_long_arguments', 3, { go: '{{bombs_echo $.variables.wide}}', handlebars: '{{bombs_echo @root.variables.wide}}' }, { variables: { wide } }),
  repeated('tool_calls_with_many_members', 3, { go: '{{bombs_echo $.variables.members}}', handlebars: '{{bombs_echo @root.variables.members}}' }, { variables: { members } }),

  // Shared variables
  repeated('counts_of_shared_variables', 3, { go: '{{len $.bombs}}{{if $.bombs}}{{end}}', handlebars: '{{len @root.bombs}}{{#if @root.bombs}}{{/if}}' }),
  repeated('reads_of_shared_variables', 3, { go: '{{len (json $.few)}}{{len (json $.few.a)}}', handlebars: '{{len (json @root.few)}}' }),
  repeated('members_of_the_root', 3, { go: '{{if eq "x" (json $.few.a)}}{{end}}{{len $}}', handlebars: '{{#each @root}}{{/each}}' }),

  // Callers
  { name: 'endless_integer', go: 'x', variables: { large: 10n ** 100_000n }, outcome: [400, 'REQUEST_INVALID'] },
  { name: 'violations', go: 'x', parameters: { type: 'object', properties: { many: { type: 'array', items: { type: 'string' } } } }, variables: { many: numbers(100_000) }, outcome: [400, 'VARIABLES_INVALID'] }
]
