import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a caller sends: 20 variables, one of them a list of 20 objects; about 1.6 KB. */
export interface Variables {
  readonly [name: `text${number}`]: string
  readonly items: ReadonlyArray<{ readonly name: string, readonly size: number }>
}

export interface Message { readonly role: string, readonly content: string }

/** Shared variables that every prompt uses. */
const ENVIRONS = 20
const TEXTS = 19
const ITEMS = 20

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
const PROSE = 'Answer in the language of the question, name the file and the line that you speak of, and say so when you do not know. '

const texts = Object.fromEntries(numbers(TEXTS).map(index => [`text${index}`, `value ${index} of the caller, a line`]))
const VARIABLES = { ...texts, items: numbers(ITEMS).map(index => ({ name: `item-${index}`, size: index * 37 })) } as unknown as Variables

/** The body of every request. */
export const BODY = JSON.stringify({ variables: VARIABLES })

const system = (open: (path: string) => string) => `${PROSE.repeat(5)}\n${numbers(ENVIRONS).map(index => `fact ${index}: ${open(`bench.fact${index}`)}`).join('\n')}`
const userTexts = (open: (path: string) => string) => `${PROSE.repeat(4)}\n${numbers(TEXTS).map(index => `t${index}: ${open(`variables.text${index}`)}`).join('\n')}\n`

/** The same prompt in both languages. */
export const PROMPTS = {
  handlebars: [
    { role: 'system', content: system(path => `{{${path}}}`) },
    { role: 'user', content: `${userTexts(path => `{{${path}}}`)}{{#each variables.items}}- {{name}} ({{size}})\n{{/each}}` }
  ],
  go: [
    { role: 'system', content: system(path => `{{.${path}}}`) },
    { role: 'user', content: `${userTexts(path => `{{.${path}}}`)}{{range .variables.items}}- {{.name}} ({{.size}})\n{{end}}` }
  ]
} as const satisfies Record<string, readonly Message[]>

const FACTS = numbers(ENVIRONS).map(index => `what fact ${index} says`)

/** What a service that was written by hand for this one prompt would do. */
export function renderByHand ({ items, ...given }: Variables): Message[] {
  let list = ''
  for (const { name, size } of items) list += `- ${name} (${size})\n`
  return [
    { role: 'system', content: `${PROSE.repeat(5)}\n${FACTS.map((fact, index) => `fact ${index}: ${fact}`).join('\n')}` },
    { role: 'user', content: `${PROSE.repeat(4)}\n${numbers(TEXTS).map(index => `t${index}: ${given[`text${index}`] as string}`).join('\n')}\n${list}` }
  ]
}

/** What every server of the benchmark must answer. */
export const REPLY = JSON.stringify({ rendered_prompt: renderByHand(VARIABLES), status: 'success' })

/** The prompt with a line for each of five facts more, which a tool gives or which stand in the template. */
const withFacts = (write: (index: number) => string) => [...PROMPTS.handlebars, { role: 'user', content: numbers(5).map(index => `${write(index)}\n`).join('') }]

/** What the tool of the benchmark answers. */
export const toolFact = (index: number | string) => `fact ${index} of a tool`

/** The paths of 100 prompts in turn. */
export function rotation (): () => string {
  let next = 0
  return () => `/api/render/prompts/handlebars.prompt${next++ % 100}`
}

/** Writes two prompts of one meaning, `tools.called` and `tools.written`. @param url the tool's */
export async function writeToolPrompts (folder: string, url: string): Promise<void> {
  for (const kind of ['templates/tools', 'tools/bench']) await mkdir(join(folder, kind), { recursive: true })
  const write = (name: string, value: unknown) => writeFile(join(folder, `${name}.json`), JSON.stringify(value))
  await write('tools/bench/fact', { type: 'restful', restful: { url, method: 'GET' }, parameters: { type: 'object', properties: { index: { type: 'integer' } } }, cacheTtl: 3_600_000 })
  await write('templates/tools/called', { messages: withFacts(index => `{{bench_fact ${index}}}`) })
  await write('templates/tools/written', { messages: withFacts(toolFact) })
}

/** Writes a folder of registrations. @param extra environs beside those that the prompts use */
export async function writeStore (folder: string, prompts: number, extra: number): Promise<void> {
  for (const kind of ['templates/go', 'templates/handlebars', 'environs/bench', 'environs/other']) await mkdir(join(folder, kind), { recursive: true })
  const write = (name: string, value: unknown) => writeFile(join(folder, `${name}.json`), JSON.stringify(value))
  for (const index of numbers(prompts)) {
    await write(`templates/handlebars/prompt${index}`, { messages: PROMPTS.handlebars })
    if (index < 100) await write(`templates/go/prompt${index}`, { messages: PROMPTS.go })
  }
  for (const index of numbers(ENVIRONS)) await write(`environs/bench/fact${index}`, FACTS[index])
  for (const index of numbers(extra)) await write(`environs/other/fact${index}`, `fact ${index} that no prompt uses`)
}
