import fc from 'fast-check'
import { type JsonObject } from '../../../src/base/json.ts'
import { type Partials } from './harness.ts'

/** One generated comparison. */
export interface Sample { readonly text: string, readonly data: JsonObject, readonly partials: Partials }

const NAMES = ['a', 'b', 'list', 'map', 'two words']
const name = fc.constantFrom(...NAMES)
const segment = name.map(each => each.includes(' ') ? `[${each}]` : each)

const scalar = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('x', 'yes', '', 'two\nlines') },
  { weight: 3, arbitrary: fc.constantFrom(0, 1, 2.5, -3) },
  { weight: 2, arbitrary: fc.boolean() })
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof({ depthSize: 'small', maxDepth: 3, withCrossShrink: true },
    { weight: 2, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
    { weight: 3, arbitrary: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }) })
}))
const data = fc.record({ a: value, b: value, list: value, map: value, 'two words': value }, { requiredKeys: ['a', 'b', 'list'], noNullPrototype: true }) as fc.Arbitrary<JsonObject>

const path = fc.oneof(
  { weight: 6, arbitrary: fc.array(segment, { minLength: 1, maxLength: 3 }).map(parts => parts.join('.')) },
  { weight: 2, arbitrary: segment.map(part => `this.${part}`) },
  { weight: 1, arbitrary: segment.map(part => `./${part}`) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('../', '../../'), segment).map(parts => parts.join('')) },
  { weight: 2, arbitrary: fc.constantFrom('this', '.', '..', 'p', 'q', 'p.a') },
  { weight: 1, arbitrary: segment.map(part => `@root.${part}`) },
  { weight: 2, arbitrary: fc.constantFrom('@index', '@key', '@first', '@last', '@../index', '@../key') })

const literal = fc.constantFrom('"a"', "'list'", '"x y"', '0', '1', '-2', 'true', 'false', 'null', 'undefined')
const lookupKey = fc.constantFrom('"a"', '"list"', '"two words"', 'true')
const argument = fc.oneof(
  { weight: 5, arbitrary: path },
  { weight: 1, arbitrary: literal },
  { weight: 1, arbitrary: fc.tuple(path, lookupKey).map(([holder, key]) => `(lookup ${holder} ${key})`) })

const open = fc.constantFrom('{{', '{{', '{{', '{{~')
const close = fc.constantFrom('}}', '}}', '}}', '~}}')
const tag = (inside: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.tuple(open, inside, close).map(parts => parts.join(''))

const text = fc.constantFrom('', ' ', '\n', '\n', ' t ', 'a\n', '\n  ', '  \n', 'text', '\\ ', '\\\\')
const params = fc.constantFrom('', '', '', ' as |p|', ' as |p q|')
// Always there: an absent one is a miss here, and an undefined context in the package, which has rules of its own.
const given = fc.oneof(literal, fc.constantFrom('this', '@root', '@root.a', '@root.b', '@root.list'))
const hash = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'list', 'p'), given), { maxLength: 2, selector: ([key]) => key })
  .map(pairs => pairs.map(([key, each]) => ` ${key}=${each}`).join(''))

/** The statements of a template that may call the partials whose names are given. */
function statements (partials: readonly string[]): fc.Arbitrary<string> {
  const partialName = fc.constantFrom(...partials, 'inner')
  const { body } = fc.letrec<{ body: string, statement: string, block: string }>(tie => ({
    body: fc.array(fc.oneof({ depthSize: 'medium' },
      { weight: 3, arbitrary: text },
      { weight: 5, arbitrary: tie('statement') }), { maxLength: 5 }).map(parts => parts.join('')),
    statement: fc.oneof({ depthSize: 'medium', maxDepth: 4 },
      { weight: 5, arbitrary: tag(path) },
      { weight: 1, arbitrary: path.map(each => `|{{&${each}}}|`) },
      { weight: 1, arbitrary: path.map(each => `|{{{${each}}}}|`) },
      { weight: 1, arbitrary: fc.tuple(path, lookupKey).map(([holder, key]) => `{{lookup ${holder} ${key}}}`) },
      { weight: 1, arbitrary: fc.constantFrom('{{! note }}', '{{!-- }} --}}', '\\{{a}}', '{{{{raw}}}} {{a}} {{{{/raw}}}}', '{{"a"}}', '{{[two words]}}') },
      { weight: 2, arbitrary: fc.tuple(partialName, hash).map(parts => `{{> ${parts.join('')}}}`) },
      { weight: 1, arbitrary: fc.tuple(path, partialName, hash).map(([each, called, named]) => `{{#with ${each}}}{{> ${called} this${named}}}{{/with}}`) },
      { weight: 8, arbitrary: tie('block') }),
    block: fc.oneof({ depthSize: 'medium' },
      fc.tuple(fc.constantFrom('if', 'unless'), argument, fc.constantFrom('', ' includeZero=true'), tie('body'), otherwise(tie('body') as fc.Arbitrary<string>, ''))
        .map(([helper, each, zero, inside, rest]) => `{{#${helper} ${each}${zero}}}${inside}${rest}{{/${helper}}}`),
      fc.tuple(open, fc.constantFrom('each', 'with'), argument, params, close, tie('body'), otherwise(tie('body') as fc.Arbitrary<string>, ''))
        .map(([left, helper, each, names, right, inside, rest]) => `${left}#${helper} ${each}${names}${right}${inside}${rest}{{/${helper}}}`),
      fc.tuple(fc.constantFrom('#', '#', '^'), path, tie('body'), otherwise(tie('body') as fc.Arbitrary<string>, ''))
        .map(([kind, each, inside, rest]) => `{{${kind}${each}}}${inside}${rest.replace(/^\{\{else if [^}]*\}\}/, '{{else}}')}{{/${each}}}`),
      fc.tuple(tie('body'), tie('body')).map(([definition, after]) => `{{#if true}}{{#*inline "inner"}}${withOwnParams(definition.replaceAll('{{> inner', '{{> last'))}{{/inline}}${after}{{/if}}`),
      fc.tuple(partialName, hash, tie('body')).map(([each, named, inside]) => `{{#> ${each}${named}}}${inside.replaceAll('{{> inner', '{{> last')}{{/${each}}}`),
      tie('body').map(inside => `{{#> @partial-block}}${inside}{{/@partial-block}}`))
  }))
  return body
}

/**
 * The body of an inline partial with other names for block parameters than the blocks around it: what the package gives
 * for those depends on where the partial is called from, and is the one of another block, or a TypeError.
 */
function withOwnParams (definition: string): string {
  return definition.replace(/\b([pq])(\d*)\b/g, (_, letter: string, level: string) => `${letter}${Number(level) + 1}`)
}

function otherwise (body: fc.Arbitrary<string>, none: string): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(none) },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom('{{else}}', '{{^}}', '{{~else~}}'), body).map(parts => parts.join('')) },
    { weight: 1, arbitrary: fc.tuple(argument, body).map(([each, inside]) => `{{else if ${each}}}${inside}`) })
}

/** Templates with the data and the partials that they need. Partials call later ones only, so that every render ends. */
export const sample: fc.Arbitrary<Sample> = fc.record({
  text: statements(['first', 'second', 'last']),
  data,
  partials: fc.record({ first: statements(['second', 'last']), second: statements(['last']), last: fc.constantFrom('<{{a}}|{{@index}}>', '{{this}}', 'end\n') })
})
