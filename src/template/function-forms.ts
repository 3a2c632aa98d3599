import { type TemplateFunction } from './template-function.ts'

/** Documents what each language implements itself: lazy forms (`default`, `and`, `or`), and those whose details differ. */
export const FORMS: ReadonlyArray<Pick<TemplateFunction, 'name' | 'parameters' | 'summary' | 'example'>> = [
  {
    name: 'default',
    parameters: 'fallback value',
    summary: 'The value, or the fallback if that is absent, null, nothing or the empty text (not 0 or false); evaluated only if it is needed.',
    example: { go: '{{ .variables.tone | default "plain" }}', handlebars: '{{default "plain" variables.tone}}', variables: {}, output: 'plain' }
  },
  {
    name: 'and',
    parameters: 'value…',
    summary: 'The first value that is false, else the last one; those after it are not evaluated.',
    example: {
      go: '{{ if and .variables.code .variables.strict }}strict{{ else }}lax{{ end }}',
      handlebars: '{{#if (and variables.code variables.strict)}}strict{{else}}lax{{/if}}',
      variables: { code: 'x', strict: true },
      output: 'strict'
    }
  },
  {
    name: 'or',
    parameters: 'value…',
    summary: 'The first value that is true, likewise.',
    example: { go: '{{ or .variables.name "nobody" }}', handlebars: '{{or variables.name "nobody"}}', variables: { name: '' }, output: 'nobody' }
  },
  {
    name: 'not',
    parameters: 'value',
    summary: 'Whether the value is [false](templates.md#conditions-and-loops).',
    example: {
      go: '{{ if not .variables.files }}no files{{ end }}',
      handlebars: '{{#if (not variables.files)}}no files{{/if}}',
      variables: { files: [] },
      output: 'no files'
    }
  },
  {
    name: 'eq',
    parameters: 'value other…',
    summary: 'Whether the text, number or boolean equals one of the others; different types are unequal in Handlebars, and an error in Go.',
    example: {
      go: '{{ if eq .variables.language "go" "rust" }}compiled{{ end }}',
      handlebars: '{{#if (eq variables.language "go" "rust")}}compiled{{/if}}',
      variables: { language: 'rust' },
      output: 'compiled'
    }
  },
  {
    name: 'ne',
    parameters: 'value other',
    summary: 'Whether the values differ.',
    example: {
      go: '{{ if ne .variables.mode "fast" }}slow{{ end }}',
      handlebars: '{{#if (ne variables.mode "fast")}}slow{{/if}}',
      variables: { mode: 'safe' },
      output: 'slow'
    }
  },
  ...order('lt', 'less than', 3, 5),
  ...order('le', 'less than or equal to', 5, 5),
  ...order('gt', 'greater than', 7, 5),
  ...order('ge', 'greater than or equal to', 5, 5),
  {
    name: 'len',
    parameters: 'value',
    summary: 'How many elements or members there are, or how long a text is: bytes in Go, UTF-16 units in Handlebars.',
    example: { go: '{{ len .variables.files }}', handlebars: '{{len variables.files}}', variables: { files: ['a', 'b'] }, output: '2' }
  },
  {
    name: 'index',
    parameters: 'holder key…',
    summary: 'The element or member at the key, and so on; a key is one segment, whatever it contains.',
    example: {
      go: '{{ index .variables.files 1 "name" }}',
      handlebars: '{{index variables.files 1 "name"}}',
      variables: { files: [{ name: 'a.go' }, { name: 'b.go' }] },
      output: 'b.go'
    }
  }
]

function order (name: string, words: string, count: number, bound: number): Array<typeof FORMS[number]> {
  return [{
    name,
    parameters: 'value other',
    summary: `Whether the value is ${words} the other: two numbers, or two texts by code units.`,
    example: {
      go: `{{ if ${name} .variables.count ${bound} }}yes{{ end }}`,
      handlebars: `{{#if (${name} variables.count ${bound})}}yes{{/if}}`,
      variables: { count },
      output: 'yes'
    }
  }]
}
