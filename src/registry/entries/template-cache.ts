import { createHash } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../../template/language.ts'

/** In bytes, and as a share of Node's heap limit; the smaller one counts. */
const MOST = 512 * 1024 * 1024
const HEAP_SHARE = 1 / 4

/** In bytes beside the text, measured: a text full of short tags takes forty times its own length. */
const BYTES_PER_TEMPLATE = 2048
const BYTES_PER_TAG: Readonly<Record<Syntax, number>> = { go: 2560, handlebars: 1024 }
const EXPLAINED = 2

export type PreparedTemplate = (explain: boolean) => Template

export interface TemplateCache {
  /** Compiled on the first call, and again after the cache has dropped it, with equal `references`. The function throws TemplateSyntaxError. */
  prepare (syntax: Syntax, source: Omit<TemplateSource, 'explain'>): PreparedTemplate
}

export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  /** In bytes, as an estimate. */
  readonly bytes: number
}

export interface CountedTemplateCache extends TemplateCache {
  statistics (): CacheCounts
}

/** Drops the least recently used; equal texts share one template. `limit` in bytes, by default a share of the heap. */
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

/** For texts of strangers, which must not push templates in use out of the cache. */
export function uncachedTemplates (languages: readonly Language[]): TemplateCache {
  return {
    prepare (syntax, source) {
      const language = languageOf(languages, syntax)
      return explain => language.compile({ ...source, explain })
    }
  }
}

/** For prompts stored nowhere: a template lives as long as the function that `prepare` returned. */
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

/** Hashed as UTF-16: lone surrogates, which JSON can have, all look the same in UTF-8. */
function digestOf (syntax: Syntax, { text, declared }: TemplateSource): string {
  const about = JSON.stringify([syntax, declared === undefined ? null : [...declared]])
  return createHash('sha256').update(`${about}\n${text}`, 'utf16le').digest('base64url')
}
