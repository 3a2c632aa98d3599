/* The columns of the playground: what each one asks, and with what. */

/** What a column asks: the text that is being edited, what is stored, the version that a label means, or a version by its number. */
export type Target = 'draft' | 'latest' | `@${string}` | `${number}`

export interface Settings {
  readonly target: Target
  /** Empty: the prompt's, or else the service's. */
  readonly model: string
  readonly temperature: string
  readonly maxTokens: string
  /** Further parameters as a JSON object; empty for none. */
  readonly others: string
}

/** What was asked, with the values of then. */
export interface Asked {
  /** In ms since 1970. */
  readonly at: number
  readonly target: Target
  /** Whether the text differed from what was stored. */
  readonly isDraft: boolean
  readonly model: string
  /** The names of the parameters that were given. */
  readonly parameters: readonly string[]
  readonly variables: Readonly<Record<string, unknown>>
  readonly messages?: unknown
}

export interface Column extends Settings { readonly key: number, readonly asked?: Asked | undefined }

/** More stand in no window beside each other. */
export const MOST_COLUMNS = 4

export const FIRST_COLUMN: Column = { key: 0, target: 'draft', model: '', temperature: '', maxTokens: '', others: '' }

/** One more column, with the settings of the last one. */
export function withColumn (columns: readonly Column[]): readonly Column[] {
  const { asked, ...last } = columns.at(-1) ?? FIRST_COLUMN
  return [...columns, { ...last, key: Math.max(...columns.map(({ key }) => key)) + 1 }]
}

/** The fields of a request that other fields of the page set, or that the page could not show. */
const OWN: readonly string[] = ['model', 'messages', 'variables', 'args', 'prompt', 'stream', 'n']

/**
 * The parameters of a request. `problem` is a field that the page sets itself; `''` where the text is no JSON object.
 */
export function parametersOf ({ model, temperature, maxTokens, others }: Settings):
  { readonly parameters: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  let given: unknown = {}
  try {
    given = others.trim() === '' ? {} : JSON.parse(others)
  } catch {
    return { problem: '' }
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { problem: '' }
  const own = OWN.find(name => Object.hasOwn(given, name))
  if (own !== undefined) return { problem: own }
  return {
    parameters: {
      ...given,
      ...model.trim() === '' ? {} : { model: model.trim() },
      ...temperature === '' ? {} : { temperature: Number(temperature) },
      ...maxTokens === '' ? {} : { max_tokens: Number(maxTokens) }
    }
  }
}

/** What `/api/chat/prompts/{id}` is asked for a version or label: its query. */
export function queryOf (target: Target): string {
  if (target.startsWith('@')) return `label=${encodeURIComponent(target.slice(1))}`
  return /^\d+$/.test(target) ? `version=${target}` : 'label=latest'
}
