import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Block, type Inline, parseMarkdown } from '../../console/parts/markdown.ts'

/** Blocks as one text: `h1(…)`, `p(…)`, `ul(li(…))`; of inlines `b(…)`, `i(…)`, `s(…)`, `code(…)`, `a<address>(…)` and `img<address>(…)`. */
function shown (blocks: readonly Block[]): string {
  return blocks.map(block => {
    switch (block.kind) {
      case 'heading': return `h${block.level}(${shownInlines(block.inlines)})`
      case 'paragraph': return `p(${shownInlines(block.inlines)})`
      case 'code': return `pre<${block.language}>(${block.text})`
      case 'quote': return `quote(${shown(block.blocks)})`
      case 'list': return `${block.start === undefined ? 'ul' : `ol${block.start}`}(${block.items.map(item => `li(${shown(item)})`).join('')})`
      case 'table': return `table(${[block.heads, ...block.rows].map(row => row.map(shownInlines).join(' | ')).join(' / ')})`
      default: return 'hr'
    }
  }).join('')
}

function shownInlines (inlines: readonly Inline[]): string {
  return inlines.map(inline => {
    if (typeof inline === 'string') return inline
    if (inline.kind === 'code') return `code(${inline.text})`
    const tag = { emphasis: 'i', strong: 'b', struck: 's', link: 'a', picture: 'img' }[inline.kind]
    return `${tag}${'address' in inline ? `<${inline.address}>` : ''}(${shownInlines(inline.inlines)})`
  }).join('')
}

const CASES: ReadonlyArray<readonly [markdown: string, means: string]> = [
  ['Hello.', 'p(Hello.)'],
  ['one\ntwo\n\nthree', 'p(one\ntwo)p(three)'],
  ['# A **b** #\n###### C#', 'h1(A b(b))h6(C#)'],
  ['#no\n####### seven', 'p(#no\n####### seven)'],
  ['a\n\n---\n\nb', 'p(a)hrp(b)'],
  ['*i* **b** ***both*** _i_ __b__ ~~s~~', 'p(i(i) b(b) b(i(both)) i(i) b(b) s(s))'],
  ['**bold *and italic***', 'p(b(bold i(and italic)))'],
  ['snake_case_name, 2 * 3 * 4, **open', 'p(snake_case_name, 2 * 3 * 4, **open)'],
  ['`code *as is*` ``a ` b`` ` open', 'p(code(code *as is*) code(a ` b) ` open)'],
  ['\\*text\\* \\# \\a', 'p(*text* # \\a)'],
  ['- a\n- b\n  more\n\n  par\n- c', 'ul(li(p(a))li(p(b\nmore)p(par))li(p(c)))'],
  ['* a\n  - b\n    - c\n* d', 'ul(li(p(a)ul(li(p(b)ul(li(p(c))))))li(p(d)))'],
  ['3. a\n4. b\n\n   ```js\n   x\n\n     y\n   ```\n', 'ol3(li(p(a))li(p(b)pre<js>(x\n\n  y)))'],
  ['1. a\n- b', 'ol1(li(p(a)))ul(li(p(b)))'],
  ['- a\ngoes on\n\nend', 'ul(li(p(a\ngoes on)))p(end)'],
  ['It was in\n1984. A good year.', 'p(It was in\n1984. A good year.)'],
  ['text\n- item', 'p(text)ul(li(p(item)))'],
  ['```python title="x"\nif a < b:\n\n    pass\n```\nend', 'pre<python>(if a < b:\n\n    pass)p(end)'],
  ['````\n```\n````', 'pre<>(```)'],
  ['~~~\n`a`\n~~~', 'pre<>(`a`)'],
  ['```json\n{ "half": ', 'pre<json>({ "half": )'],
  ['> a\n> - b\n\nc', 'quote(p(a)ul(li(p(b))))p(c)'],
  ['| a | b |\n| :- | -: |\n| 1 | `x` |\n| 2 |\n| \\| | **c** | more |', 'table(a | b / 1 | code(x) / 2 |  / | | b(c))'],
  ['a | b\nno table', 'p(a | b\nno table)'],
  ['[text](https://a.example/x_(y)) and [t](https://a.example "title")', 'p(a<https://a.example/x_(y)>(text) and a<https://a.example/>(t))'],
  ['See https://a.example/b_c. Or <https://b.example>, (https://c.example)!', 'p(See a<https://a.example/b_c>(https://a.example/b_c). Or a<https://b.example/>(https://b.example), (a<https://c.example/>(https://c.example))!)'],
  ['[mail](mailto:ann@a.example)', 'p(a<mailto:ann@a.example>(mail))'],
  ['![logo](https://a.example/l.png)', 'p(img<https://a.example/l.png>(logo))'],
  ['[a [b](https://b.example) c](d)', 'p([a a<https://b.example/>(b) c](d))'],
  ['[x](javascript:alert(1)) [y](data:text/html,z) [z](/relative) [w]( https://a.example)', 'p([x](javascript:alert(1)) [y](data:text/html,z) [z](/relative) [w]( a<https://a.example/>(https://a.example)))'],
  ['<script>alert(1)</script> <b onclick="x">&amp;', 'p(<script>alert(1)</script> <b onclick="x">&amp;)'],
  ['[bank](https://b\u0430nk.example)', 'p(a<https://xn--bnk-6cd.example/>(bank))'],
  ['a\r\nb', 'p(a\nb)'],
  ['', '']
]

/** Texts of this many characters and of four times as many, which a reader without bounds would take the square of the time for. */
const LONG = 20_000

const LONG_TEXTS: Readonly<Record<string, (count: number) => string>> = {
  'open emphasis': count => '*a '.repeat(count),
  'emphasis that only ends': count => 'a* '.repeat(count),
  'open brackets': count => '['.repeat(count),
  'links without an end': count => '[a]('.repeat(count),
  'titles without an end': count => '[a](b "'.repeat(count),
  'a target of spaces': count => `[a](${' '.repeat(count)}`,
  'backticks of every length': count => Array.from({ length: Math.sqrt(count) }, (_, index) => '`'.repeat(index + 1)).join(' '),
  'code of spaces': count => `\`${' '.repeat(count)}\``,
  'empty lines in a list': count => `- a${'\n'.repeat(count)}b`,
  'a fence that is none': count => `${'~'.repeat(count)}\``,
  'an address of parentheses': count => `http://a${')'.repeat(count)}`,
  'lines like those of a table': count => 'a|b\n'.repeat(count),
  'quotes in quotes': count => '>'.repeat(count),
  'every mark': count => '*_~~['.repeat(count)
}

describe('The Markdown of an answer', () => {
  for (const [markdown, means] of CASES) {
    it(`is read: ${JSON.stringify(markdown).slice(0, 80)}`, () => { assert.equal(shown(parseMarkdown(markdown)), means) })
  }

  for (const [name, make] of Object.entries(LONG_TEXTS)) {
    it(`is read in linear time: ${name}`, () => {
      const time = (text: string) => {
        const times = Array.from({ length: 3 }, () => {
          const began = performance.now()
          parseMarkdown(text)
          return performance.now() - began
        })
        return Math.min(...times)
      }
      const [short, long] = [time(make(LONG)), time(make(4 * LONG))]
      // Four times as long: a square would take 16 times as long.
      assert.ok(long < 10 * short + 20, `${short} ms, then ${long} ms`)
    })
  }

  it('is never nested so deeply that it cannot be shown', () => {
    const deepest = (blocks: readonly Block[]): number => Math.max(0, ...blocks.map(block =>
      1 + (block.kind === 'quote' ? deepest(block.blocks) : block.kind === 'list' ? Math.max(...block.items.map(deepest)) : 0)))
    assert.ok(deepest(parseMarkdown('> '.repeat(1000))) < 20)
    assert.ok(deepest(parseMarkdown('- '.repeat(1000))) < 20)
    assert.ok(JSON.stringify(parseMarkdown(`${'*a _b '.repeat(1000)}${'_ *'.repeat(1000)}`)).split('"emphasis"').length < 2000)
  })
})
