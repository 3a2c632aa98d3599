import { createHash } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../../template/language.ts'

/** The most memory that compiled templates are allowed to take: in bytes, and as a share of Node's heap limit. The smaller limit counts. */
const MOST = 512 * 1024 * 1024
const HEAP_SHARE = 1 / 4

/**
 * The estimate of the memory that a compiled template takes beside its text, in bytes, measured with templates such as `{{user.name}}` and rounded up.
 * A template that can be explained counts `EXPLAINED` times. A bound on the length of texts would not bound the memory: a text full of short tags takes
 * forty times its own length.
 */
const BYTES_PER_TEMPLATE = 2048
const BYTES_PER_TAG: Readonly<Record<Syntax, number>> = { go: 2560, handlebars: 1024 }
const EXPLAINED = 2

/** Gives the compiled template of one text. With `explain` the template can tell which value each piece of its output came from. */
export type PreparedTemplate = (explain: boolean) => Template

/** Gives compiled templates to the code that compiles prompts. */
export interface TemplateCache {
  /**
   * Prepares the text of a template once, so that a later look-up takes no longer for a long text than for a short one. The returned function compiles
   * the template when it is first called, and again after the cache has dropped it. A template that is compiled again has the same `references` in the
   * same order, so that links made for the first one fit it. The function throws TemplateSyntaxError.
   */
  prepare (syntax: Syntax, source: Omit<TemplateSource, 'explain'>): PreparedTemplate
}

/** The figures of a cache of templates: hits and misses since it was made, and its present contents. */
export interface TemplateStatistics {
  /** How many templates were found in the cache. */
  readonly hits: number
  /** How many templates had to be compiled. */
  readonly misses: number
  readonly entries: number
  /** The memory that the entries take, in bytes, as an estimate. */
  readonly bytes: number
}

/** A cache that keeps compiled templates and counts its hits and misses. */
export interface CountedTemplateCache extends TemplateCache {
  statistics (): TemplateStatistics
}

/**
 * Makes a cache that keeps compiled templates within a bound of memory. The least recently used are dropped first, and compiled again when they are
 * needed. Equal texts share one compiled template, whatever prompt they belong to.
 * @param limit the most memory that the templates are allowed to take, in bytes
 * @default a share of the heap
 */
export function createTemplateCache (languages: readonly Language[], limit = shareOfHeap()): CountedTemplateCache {
  const templates = new LRUCache<string, Template>({ maxSize: limit })
  let hits = 0
  let misses = 0

  function find (key: string, language: Language, source: TemplateSource): Template {
    const known = templates.get(key)
    if (known !== undefined) {
      hits++
      return known
    }
    misses++
    const template = language.compile(source)
    templates.set(key, template, { size: sizeOf(language, source) })
    return template
  }

  return {
    prepare (syntax, source) {
      const language = languageOf(languages, syntax)
      const digest = digestOf(syntax, source)
      const explainedKey = `${digest} explained`
      const explained = { ...source, explain: true }
      return explain => explain ? find(explainedKey, language, explained) : find(digest, language, source)
    },
    statistics: () => ({ hits, misses, entries: templates.size, bytes: templates.calculatedSize })
  }
}

/** Makes a cache that keeps nothing. It is for texts that strangers send: these must not push templates in use out of the cache of `createTemplateCache`. */
export function uncachedTemplates (languages: readonly Language[]): TemplateCache {
  return {
    prepare (syntax, source) {
      const language = languageOf(languages, syntax)
      return explain => language.compile({ ...source, explain })
    }
  }
}

/** Makes a cache for prompts that are stored nowhere. Each template is compiled once, and lives as long as the function that `prepare` returned. */
export function ownTemplates (languages: readonly Language[]): TemplateCache {
  return {
    prepare (syntax, source) {
      const language = languageOf(languages, syntax)
      const known = new Map<boolean, Template>()
      return explain => {
        const template = known.get(explain) ?? language.compile({ ...source, explain })
        known.set(explain, template)
        return template
      }
    }
  }
}

function shareOfHeap (): number {
  return Math.min(MOST, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE))
}

function sizeOf ({ syntax }: Language, { text, explain = false }: TemplateSource): number {
  const size = BYTES_PER_TEMPLATE + Buffer.byteLength(text) + countTags(text) * BYTES_PER_TAG[syntax]
  return explain ? EXPLAINED * size : size
}

function countTags (text: string): number {
  let count = 0
  for (let index = text.indexOf('{{'); index >= 0; index = text.indexOf('{{', index + 2)) count++
  return count
}

function languageOf (languages: readonly Language[], syntax: Syntax): Language {
  const language = languages.find(each => each.syntax === syntax)
  if (language === undefined) throw new Error(`no template language ${syntax}`)
  return language
}

/**
 * The hash under which a template is kept. Templates with different contents have different hashes. The text is hashed as UTF-16: JSON can have lone
 * surrogates, which all look the same in UTF-8.
 */
function digestOf (syntax: Syntax, { text, declared }: TemplateSource): string {
  const about = JSON.stringify([syntax, declared === undefined ? null : [...declared]])
  return createHash('sha256').update(`${about}\n${text}`, 'utf16le').digest('base64url')
}
