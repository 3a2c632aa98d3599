import { api, type Page, takePage } from './client.ts'

/** A row of the list of prompts. */
export interface PromptRow {
  readonly id: string
  readonly origin: string
  readonly state: string
  readonly syntax?: string
  readonly form: string
  readonly description?: unknown
  readonly revision: string
  /** When the prompt was last changed, as far as the service knows; `by` names who changed it. */
  readonly updatedAt: string
  readonly by: string
  readonly labels?: readonly { readonly label: string, readonly version: number, readonly weight: number, readonly isLatest: boolean }[]
}

/** A row of the list of tools. */
export interface ToolRow { readonly id: string, readonly function: string, readonly type: string, readonly description: string }

/** An entry that the search can find, with the path of its page in the console. */
export interface Found { readonly kind: 'prompt' | 'environ' | 'tool' | 'extension', readonly id: string, readonly description: string, readonly path: string }

/** How many rows one request asks for, and after how many rows a listing is not read any further. */
const PAGE = 1000
const MOST_ROWS = 20_000

export const listPrompts = (): Promise<readonly PromptRow[]> => all(after => takePage<PromptRow>(api.GET('/api/prompts', {
  params: {
    query: {
      detail: true,
      limit: PAGE,
      ...after
    }
  }
})))
export const listTools = (): Promise<readonly ToolRow[]> => all(after => takePage<ToolRow>(api.GET('/api/tools', {
  params: {
    query: {
      detail: true,
      limit: PAGE,
      ...after
    }
  }
})))
export const listExtensions = () => all(after => takePage<{
  readonly id: string
  readonly name: string
  readonly type: string
  readonly version?: string
  readonly displayName?: unknown
  readonly description?: unknown
  readonly state: string
  readonly prompts: readonly string[]
}>(api.GET('/api/extensions', {
  params: {
    query: {
      detail: true,
      limit: PAGE,
      ...after
    }
  }
})))
export const listEnvirons = (): Promise<readonly string[]> => all(after => takePage<string>(api.GET('/api/environs', {
  params: {
    query: {
      limit: PAGE,
      ...after
    }
  }
})))

/** Lists the ids and descriptions of all prompts, shared variables, tools and extensions that the caller may see. */
export async function listEverything (): Promise<readonly Found[]> {
  const [prompts, environs, tools, extensions] = await Promise.all([listPrompts(), listEnvirons(), listTools(), listExtensions()])
  return [
    ...prompts.map(({ id, description }) => ({ kind: 'prompt' as const, id, description: words(description), path: `/prompts/${encodeURIComponent(id)}` })),
    ...environs.map(id => ({ kind: 'environ' as const, id, description: '', path: `/environs/${encodeURIComponent(id)}` })),
    ...tools.map(({ id, description }) => ({ kind: 'tool' as const, id, description, path: `/tools/${encodeURIComponent(id)}` })),
    ...extensions.map(({ id, description }) => ({
      kind: 'extension' as const,
      id,
      description: words(description),
      path: `/extensions/${encodeURIComponent(id)}`
    }))
  ]
}

/**
 * The description of an entry as a text, `''` for none. A value of another type is shown as JSON, since publishers may store any value as
 * the description.
 */
export function words (description: unknown): string {
  return typeof description === 'string' ? description : description === undefined || description === null ? '' : JSON.stringify(description)
}

async function all<T> (read: (after: { readonly after?: string }) => Promise<Page<T>>): Promise<readonly T[]> {
  const rows: T[] = []
  let next: string | undefined
  do {
    const page = await read(next === undefined ? {} : { after: next })
    rows.push(...page.rows)
    next = page.next
  } while (next !== undefined && rows.length < MOST_ROWS)
  return rows
}
