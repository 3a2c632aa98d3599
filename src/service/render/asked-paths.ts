import { type Prompt } from '../../registry/generation/generation.ts'
import { type Link, type LinkedPartial } from '../../template/language.ts'

/** The most partials (included prompts) that are searched, so that a wrong request does not take much time. */
const MOST_PARTIALS = 100

/**
 * Whether a prompt takes a value at a path: it declares a parameter of that name, or it or a partial (an included prompt) reads the path or
 * something below it. A name without `variables.` is taken for a variable.
 */
export function asksFor (prompt: Prompt, path: string): boolean {
  const bare = path.startsWith('variables.') ? path.slice('variables.'.length) : path
  if (prompt.entry.parameters?.names.has(bare) === true) return true
  return readPaths(prompt).some(need => [path, bare].some(name => need === name || need.startsWith(`${name}.`)))
}

function readPaths ({ entry, texts }: Prompt): string[] {
  const partials = new Set(texts.flatMap(({ links }) => partialsAmong(links)))
  for (const partial of partials) {
    if (partials.size >= MOST_PARTIALS) break
    for (const each of partialsAmong(partial.links)) partials.add(each)
  }
  const needs = [...entry.compiled.texts, ...Array.from(partials, partial => partial.template(false))].flatMap(({ paths }) => paths)
  return needs.map(({ path }) => path)
}

function partialsAmong (links: ReadonlyArray<Link | undefined>): LinkedPartial[] {
  return links.filter(link => link?.kind === 'partial')
}
