import { _, type CodeKeywordDefinition } from 'ajv'
import { type default as Ajv } from 'ajv/dist/core.js'
import referenceKeyword from 'ajv/dist/vocabularies/core/ref.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { canonicalJson } from '../json.ts'
import { type Json } from '../template/value.ts'
import { type WorkMeter } from './work-meter.ts'

/** Some format patterns take time quadratic to the text; no address, date or name is longer than this. */
const MAX_FORMATTED = 4096

const boundedFormats = Object.entries(fullFormats).map(([name, format]) => [name, bound(format)] as const)

/**
 * Changes what ajv does where a stranger's schema or value could make it work without end: references are counted,
 * `uniqueItems` compares canonical texts instead of every pair, formats meet short texts only, `$dynamicRef` is refused.
 */
export function installVocabulary (ajv: Ajv.default, meter: WorkMeter): void {
  for (const [name, format] of boundedFormats) ajv.addFormat(name, format)
  for (const keyword of ['$ref', '$dynamicRef', 'uniqueItems']) ajv.removeKeyword(keyword)
  ajv.addKeyword(meteredReference(meter))
  ajv.addKeyword({ keyword: '$dynamicRef', code: () => { throw new Error('$dynamicRef is not supported') } })
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have equal items' },
    validate: (wanted: boolean, items: Json[]) => !wanted || new Set(items.map(canonicalJson)).size === items.length
  })
}

function meteredReference (meter: WorkMeter): CodeKeywordDefinition {
  const { code, ...definition } = referenceKeyword.default as CodeKeywordDefinition
  return {
    ...definition,
    code (context) {
      checkPointer(context.schema as string, context.it.schemaEnv.root.schema)
      const counter = context.gen.scopeValue('obj', { ref: meter })
      context.gen.code(_`${counter}.followReference()`)
      code(context)
    }
  }
}

/** ajv follows `#/constructor` into JavaScript's own objects, which are no part of any schema. */
function checkPointer (reference: string, root: unknown): void {
  const segments = decodeURIComponent(reference.replace(/^[^#]*#?/, '')).split('/').slice(1).map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (!segments.some(segment => segment in Object.prototype)) return
  let place = reference.startsWith('#') ? root : undefined
  for (const segment of segments) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, segment)) throw new Error(`can't resolve reference ${reference}`)
    place = (place as Record<string, unknown>)[segment]
  }
}

type Format = typeof fullFormats[keyof typeof fullFormats]

function bound (format: Format): Format {
  return format instanceof RegExp ? { validate: (text: string) => text.length <= MAX_FORMATTED && format.test(text) } : format
}
