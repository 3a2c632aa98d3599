import { type JsonObject } from '../../../src/base/json.ts'

/** A place where this engine differs from the handlebars package on purpose. */
export interface Difference {
  readonly about: string
  readonly text: string
  readonly data: JsonObject
  readonly partials?: Readonly<Record<string, string>>
  /** What each gives; `undefined` where it throws. What is absent prints empty on both sides. */
  readonly package: string | undefined
  readonly ours: string | undefined
}

/** All of them; the generated comparison leaves them out and finds no other. */
export const DIFFERENCES: readonly Difference[] = [
  {
    about: 'Lists have elements and texts have nothing: there is no `length`. Use `len`.',
    text: '{{list.length}}/{{word.length}}/{{len list}}',
    data: { list: [1, 2], word: 'abc' },
    package: undefined,
    ours: '//2'
  },
  {
    about: 'A text has no characters to look up.',
    text: '[{{lookup word 0}}]',
    data: { word: 'abc' },
    package: '[a]',
    ours: '[]'
  },
  {
    about: 'Every block that sets a context opens a level for `../`; in the package, one whose value equals the context around it does not.',
    text: '{{#each from}}{{#each @root.to}}{{../this}} to {{this}}; {{/each}}{{/each}}',
    data: { from: ['en'], to: ['en', 'de'] },
    package: '{"from":["en"],"to":["en","de"]} to en; en to de; ',
    ours: 'en to en; en to de; '
  },
  {
    about: 'Every block that sets a context opens a level for `../`, also over the context itself.',
    text: '{{#with this}}{{title}}[{{../title}}]{{/with}}',
    data: { title: 'T' },
    package: 'T[]',
    ours: 'T[T]'
  },
  {
    about: 'Every block that sets a context opens a level for `../`, also within one over a value that is loosely equal.',
    text: '{{#with true}}{{#with 1}}{{../this}}{{/with}}{{/with}}',
    data: {},
    package: '{}',
    ours: 'true'
  },
  {
    about: 'Every block that sets a context opens a level for `../`, also over true or null.',
    text: '{{#flag}}[{{../title}}]{{/flag}}{{#each list}}{{#each @root.list}}{{#if ..}}{{else}}null{{/if}}{{/each}}{{/each}}',
    data: { title: 'T', flag: true, list: [null] },
    package: '[]',
    ours: '[T]null'
  },
  {
    about: 'Null as a context stays null inside `if` and `unless`, where the package makes it an empty object.',
    text: '{{#each list}}{{#if true}}[{{this}}]{{/if}}{{/each}}',
    data: { list: [null] },
    package: '[{}]',
    ours: '[]'
  },
  {
    about: 'What is below null, 0 and false is absent, not null.',
    text: '{{> show value=none.deeper}}',
    data: { none: null },
    partials: { show: '{{this}}' },
    package: '{"none":null,"value":null}',
    ours: '{"none":null}'
  },
  {
    about: '`@partial-block` is true where there is one; the package renders it without a context and tests its text.',
    text: '{{#> slot}}{{name}}{{/slot}}',
    data: { name: 'Ann' },
    partials: { slot: '{{#if @partial-block}}given{{else}}not given{{/if}}' },
    package: 'not given',
    ours: 'given'
  },
  {
    about: 'A block over an object has a block parameter: the object. The package has another value by accident.',
    text: '{{#user as |u|}}{{u.name}}{{/user}}',
    data: { user: { name: 'Ann' } },
    package: '',
    ours: 'Ann'
  },
  {
    about: 'What is below null, 0 and false is absent, also for `@root`.',
    text: '[{{@root.zero.deeper}}]',
    data: { zero: 0 },
    package: '[0]',
    ours: '[]'
  },
  {
    about: 'An object is data, whatever its members are called; the package calls `toString`.',
    text: '{{value}}',
    data: { value: { toString: 'a' } },
    package: undefined,
    ours: '{"toString":"a"}'
  },
  {
    about: 'A named argument that nothing reads is a mistake.',
    text: '{{#each list unused=1}}{{this}}{{/each}}',
    data: { list: [1] },
    package: '1',
    ours: undefined
  },
  {
    about: '`if` and `unless` have no block parameters, which is told when the template is loaded.',
    text: '{{#if a as |b|}}{{this.a}}{{/if}}',
    data: { a: 1 },
    package: '1',
    ours: undefined
  },
  {
    about: 'A partial cannot be chosen by a value.',
    text: '{{> (lookup this "which")}}',
    data: { which: 'show' },
    partials: { show: 'shown' },
    package: 'shown',
    ours: undefined
  },
  {
    about: '`log` is not available.',
    text: '{{log "x" level="none"}}',
    data: {},
    package: '',
    ours: undefined
  },
  {
    about: 'A function called as a block is a block over its value, which keeps the context where it is true.',
    text: '{{#eq name "Ann"}}{{name}}{{else}}other{{/eq}}',
    data: { name: 'Ann' },
    package: undefined,
    ours: 'Ann'
  }
]
