import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../template/language.ts'

/** Source text that may stay compiled, in bytes of UTF-8. A source has at most 64 KiB, so that at least 100 templates fit. */
const MAX_SOURCE_BYTES = 32 * 1024 * 1024

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
  /** Source text of the entries, in bytes of UTF-8. */
  readonly bytes: number
}

/** A cache that keeps what it compiles, and counts. */
export interface CountedTemplateCache extends TemplateCache {
  statistics (): TemplateStatistics
}

/**
 * Keeps compiled templates, the least recently used dropped first; a miss costs a compile, not a failure. Equal sources
 * share one compiled template, whatever prompt they belong to.
 */
export function createTemplateCache (languages: readonly Language[]): CountedTemplateCache {
  const templates = new LRUCache<string, Template>({ maxSize: MAX_SOURCE_BYTES })
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
    templates.set(key, template, { size: Math.max(1, Buffer.byteLength(source.text)) })
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
