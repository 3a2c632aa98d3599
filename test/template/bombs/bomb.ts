import { type Syntax } from '../../../src/template/language.ts'
import { type JsonObject } from '../../../src/base/json.ts'

/** A template that would take minutes, gigabytes or the whole stack, were nothing in its way. */
export interface Bomb {
  /** A word that an id can hold. */
  readonly name: string
  /** Its text in each language that can say it. */
  readonly go?: string
  readonly handlebars?: string
  /** Further prompts by name, in the bomb's language. */
  readonly partials?: (syntax: Syntax) => Readonly<Record<string, string>>
  /** What the prompt declares, and each of the further ones. */
  readonly parameters?: JsonObject
  readonly variables?: JsonObject
  /** Status and code of the reply. @default 503 RENDER_BUDGET */
  readonly outcome?: readonly [status: number, code: string]
}

/** A bomb in one language, ready to be registered and rendered. */
export interface ArmedBomb {
  /** `{name}.{language}` */
  readonly id: string
  readonly variables: JsonObject
  readonly status: number
  readonly code: string
  /** Its prompt and its partials, by key. */
  readonly registrations: Readonly<Record<string, JsonObject>>
}

const SYNTAXES: readonly Syntax[] = ['go', 'handlebars']

/** Every bomb in every language that it has. */
export function arm (bombs: readonly Bomb[]): ArmedBomb[] {
  return bombs.flatMap(bomb => SYNTAXES.flatMap(syntax => {
    const text = bomb[syntax]
    return text === undefined ? [] : [armed(bomb, syntax, text)]
  }))
}

function armed ({ name, partials, parameters, variables = {}, outcome: [status, code] = [503, 'RENDER_BUDGET'] }: Bomb, syntax: Syntax, text: string): ArmedBomb {
  const texts = { [syntax]: text, ...Object.fromEntries(Object.entries(partials?.(syntax) ?? {}).map(([partial, source]) => [`${partial}_${syntax}`, source])) }
  const declared: JsonObject = parameters === undefined ? {} : { parameters }
  const prompts = Object.entries(texts).map(([each, userPrompt]) => [`templates:${name}:${each}`, { userPrompt, syntax, ...declared }] as const)
  return { id: `${name}.${syntax}`, variables, status, code, registrations: Object.fromEntries(prompts) }
}
