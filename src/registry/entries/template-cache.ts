import { createHash } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../../template/language.ts'

/** How much memory compiled templates may take at most, in bytes, and which share of the heap that Node has been given. */
const MOST = 512 * 1024 * 1024
const HEAP_SHARE = 1 / 4

/**
 * What a compiled template takes beside its text, in bytes: what was measured of prompts with paths, rounded up. It is
 * forty times a text full of short tags, so that a bound of texts would be none of memory.
 */
const BYTES_PER_TEMPLATE = 2048
const BYTES_PER_TAG: Readonly<Record<Syntax, number>> = { go: 2560, handlebars: 1024 }
const EXPLAINED = 2

/** Gives a template, compiled plainly or to be explained. */
export type PreparedTemplate = (explain: boolean) => Template

/** Where compiled templates are had from. */
export interface TemplateCache {
  /**
   * Prepares a source once, so that the way to its template does not depend on the source's length. The template is
   * compiled when it is first asked for, and again when it was dropped meanwhile; that one has the same references.
   * What it gives throws TemplateSyntaxError.
   */
  prepare (syntax: Syntax, source: Omit<TemplateSource, 'explain'>): PreparedTemplate
}

/** How a cache has done since it was made, and what it holds now. */
export interface TemplateStatistics {
  /** Templates that were there. */
  readonly hits: number
  /** Templates that had to be compiled. */
  readonly misses: number
  readonly entries: number
  /** What the entries take in memory, in bytes, as an estimate. */
  readonly bytes: number
}

/** A cache that keeps what it compiles, and counts. */
export interface CountedTemplateCache extends TemplateCache {
  statistics (): TemplateStatistics
}

/**
 * Keeps compiled templates, the least recently used dropped first; a miss costs a compile, not a failure. Equal sources
 * share one compiled template, whatever prompt they belong to.
 * @param limit how much memory they may take, in bytes @default a share of the heap
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

/** A cache that keeps nothing: what strangers send must not push out what is in use. */
export function uncachedTemplates (languages: readonly Language[]): TemplateCache {
  return {
    prepare (syntax, source) {
      const language = languageOf(languages, syntax)
      return explain => language.compile({ ...source, explain })
    }
  }
}

/** Templates that live as long as what they were prepared for, each compiled once: of a prompt that is stored nowhere. */
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

/** Tells sources apart by content. As UTF-16, since lone surrogates, which JSON may have, are all the same in UTF-8. */
function digestOf (syntax: Syntax, { text, declared }: TemplateSource): string {
  const about = JSON.stringify([syntax, declared === undefined ? null : [...declared]])
  return createHash('sha256').update(`${about}\n${text}`, 'utf16le').digest('base64url')
}
