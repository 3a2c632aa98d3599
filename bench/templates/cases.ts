import { type JsonObject } from '../../src/base/json.ts'

/** A prompt that reads the same in both languages. */
export interface Case {
  readonly name: string
  readonly go: string
  readonly handlebars: string
  /** Texts of the partials by name, in each language. */
  readonly partials: Readonly<Record<string, { readonly go: string, readonly handlebars: string }>>
  readonly variables: JsonObject
}

const files = (count: number) => Array.from({ length: count }, (_, index) => ({
  name: `src/module_${index}/handler.go`,
  lines: 20 + index * 7 % 400,
  changed: index % 3 === 0,
  owner: { name: `owner ${index % 5}` }
}))

const loop = {
  go: 'Files of {{.variables.project}}:\n{{range $index, $file := .variables.files}}{{if $index}}\n{{end}}- {{.name}}, {{.lines}} lines, by {{.owner.name}}{{if .changed}} (changed){{end}}{{end}}\n',
  handlebars: 'Files of {{variables.project}}:\n{{#each variables.files}}{{#if @index}}\n{{/if}}- {{name}}, {{lines}} lines, by {{owner.name}}{{#if changed}} (changed){{/if}}{{/each}}\n',
  partials: {}
}

/** What the benchmark renders: shapes that real prompts have. */
export const CASES: readonly Case[] = [
  {
    name: 'small',
    go: 'You are a {{.variables.role}}.\nReview this {{.variables.language}} code{{if .variables.strict}}, strictly{{else}}, kindly{{end}}:\n\n{{.variables.code}}\n\nAnswer in {{.variables.answer.language}}, at most {{.variables.answer.words}} words.\n',
    handlebars: 'You are a {{variables.role}}.\nReview this {{variables.language}} code{{#if variables.strict}}, strictly{{else}}, kindly{{/if}}:\n\n{{variables.code}}\n\nAnswer in {{variables.answer.language}}, at most {{variables.answer.words}} words.\n',
    partials: {},
    variables: { role: 'senior engineer', language: 'Go', strict: true, code: 'func main() {\n\tfmt.Println("hello")\n}', answer: { language: 'English', words: 200 } }
  },
  { name: 'loop-20', ...loop, variables: { project: 'payments', files: files(20) } },
  { name: 'loop-200', ...loop, variables: { project: 'payments', files: files(200) } },
  {
    name: 'partials',
    go: '{{range .variables.groups}}{{template "group" .}}{{end}}',
    handlebars: '{{#each variables.groups}}{{> group}}{{/each}}',
    partials: {
      group: {
        go: '## {{.title}}\n{{range .files}}{{template "file" .}}{{end}}',
        handlebars: '## {{title}}\n{{#each files}}{{> file}}{{/each}}'
      },
      file: {
        go: '- {{.name}}, {{.lines}} lines{{template "owner" .owner}}',
        handlebars: '- {{name}}, {{lines}} lines{{> owner owner}}'
      },
      owner: {
        go: ', by {{.name}}\n',
        handlebars: ', by {{name}}\n'
      }
    },
    variables: { groups: Array.from({ length: 5 }, (_, index) => ({ title: `Group ${index}`, files: files(4) })) }
  }
]
