import fc from 'fast-check'

/** What the prompts of a layout print, and what they call each other with. */
export interface LayoutWords { readonly prints: readonly string[], readonly arguments: readonly string[] }

/** Prompts that call each other, and the one that begins. */
export interface Layout { readonly text: string, readonly partials: Readonly<Record<string, string>> }

/** Prompts that are registered: each calls those after it. What calls itself through an inline partial has no end, and is left out. */
const REGISTERED = ['page', 'lay', 'row', 'cell'] as const
/** Names that only inline partials have. */
const UNREGISTERED = ['slot', 'head']
const NAMES = [...REGISTERED, ...UNREGISTERED]

/** Statements that call prompts of these names, and define and call inline partials of all. */
function statements (called: readonly string[], words: LayoutWords): fc.Arbitrary<string> {
  const partial = fc.constantFrom(...called)
  const argument = fc.constantFrom(...words.arguments)
  const { body } = fc.letrec<{ body: string, statement: string, inline: string }>(tie => ({
    body: fc.array(fc.oneof({ depthSize: 'medium', maxDepth: 5 },
      { weight: 3, arbitrary: fc.constantFrom('a', 'b', '.', '|') },
      { weight: 6, arbitrary: tie('statement') }), { maxLength: 4 }).map(parts => parts.join('')),
    inline: fc.tuple(fc.constantFrom(...NAMES), tie('body')).map(([name, inside]) => `{{#*inline "${name}"}}<${inside}>{{/inline}}`),
    statement: fc.oneof({ depthSize: 'medium', maxDepth: 5 },
      { weight: 3, arbitrary: fc.constantFrom(...words.prints) },
      { weight: 4, arbitrary: fc.tuple(partial, argument).map(([name, given]) => `{{> ${name}${given}}}`) },
      { weight: 2, arbitrary: fc.constant('{{> @partial-block}}') },
      { weight: 1, arbitrary: tie('body').map(inside => `{{#> @partial-block}}${inside}{{/@partial-block}}`) },
      { weight: 2, arbitrary: tie('inline') },
      {
        weight: 4,
        arbitrary: fc.tuple(partial, argument, fc.array(tie('inline'), { maxLength: 2 }), tie('body'))
          .map(([name, given, inlines, inside]) => `{{#> ${name}${given}}}${inlines.join('')}${inside}{{/${name}}}`)
      },
      { weight: 1, arbitrary: tie('body').map(inside => `{{#if true}}${inside}{{/if}}`) },
      { weight: 1, arbitrary: tie('body').map(inside => `{{#each @root.variables.list}}${inside}{{/each}}`) },
      { weight: 1, arbitrary: tie('body').map(inside => `{{#with @root.variables.user}}${inside}{{/with}}`) })
  }))
  return body
}

/** Layouts: prompts that hand blocks and inline partials to each other, named like each other and like registered ones. */
export function layouts (words: LayoutWords): fc.Arbitrary<Layout> {
  return fc.record({
    text: statements(NAMES, words).map(body => `start:${body}`),
    partials: fc.record(Object.fromEntries(REGISTERED.map((name, index) => [name, statements([...REGISTERED.slice(index + 1), ...UNREGISTERED], words).map(body => `${name}:${body}`)])))
  })
}
