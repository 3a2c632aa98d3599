/**
 * The prefix of all keys of a warm-up (requests that the service sends to itself at its start, so that its code is compiled). The keys are
 * in a separate store, which exists only during the warm-up.
 */
export const OWN_PREFIX = 'warm:'

const numbers = Array.from({ length: 10 }, (_, index) => index)
const PROSE = 'Answer in the language of the question, and name the file and the line that you speak of. '

const HANDLEBARS = [
  PROSE,
  ...numbers.map(index => `{{own.fact${index}}}, {{variables.text${index}}}`),
  '{{#each variables.items}}- {{name}} ({{size}}){{#if more}}, {{more}}{{/if}}\n{{/each}}'
].join('\n')
const GO = [
  PROSE,
  ...numbers.map(index => `{{.own.fact${index}}}, {{.variables.text${index}}}`),
  '{{range .variables.items}}- {{.name}} ({{.size}}){{if .more}}, {{.more}}{{end}}\n{{end}}'
].join('\n')
const textOf = (content: string): string => JSON.stringify({ messages: [{ role: 'system', content: PROSE }, { role: 'user', content }] })

/** The entries of a warm-up: a prompt in each template language, and the shared variables that both prompts read. */
export const OWN_ENTRIES: ReadonlyMap<string, string> = new Map([
  ...numbers.map(index => [`${OWN_PREFIX}environs:own:fact${index}`, JSON.stringify(`what fact ${index} says`)] as const),
  ...Object.entries({ handlebars: HANDLEBARS, go: GO }).map(([name, content]) => [`${OWN_PREFIX}templates:own:${name}`, textOf(content)] as const)
])

const VARIABLES = {
  ...Object.fromEntries(numbers.map(index => [`text${index}`, `value ${index} of the caller, a line`])),
  items: numbers.map(index => ({ name: `item-${index}`, size: index * 37, more: index % 2 === 0 ? 'more' : '' }))
}

const BODY = JSON.stringify({ variables: VARIABLES })

/** The paths, below `/api/`, of the requests that a warm-up sends: four renders and a chat. */
const PATHS = [
  'render/prompts/own.handlebars', 'render/prompts/own.go', 'render/prompts/own.handlebars', 'chat/prompts/own.handlebars', 'render/prompts/own.go'
]

/**
 * The HTTP requests of a warm-up, in their order. Each request is one text, so that it is one write to the socket: a second write would wait until the
 * first is acknowledged.
 */
export const OWN_REQUESTS: readonly string[] = PATHS.map(path =>
  `POST /api/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`)
