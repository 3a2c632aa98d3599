import Handlebars from 'handlebars'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { type Row } from '../report.ts'
import { compare, inThisProcess } from '../rounds.ts'
import { type Case, CASES } from './cases.ts'
import { compileWithPackage, renderOnce } from './engines.ts'
import { times } from './runtime.ts'

/** Compiling against the handlebars package's compile and first render, which is when it does the work. */
export async function benchCompile (): Promise<Row[]> {
  const rows: Row[] = []
  // A template with partials renders only with them; its text is like that of the loops.
  for (const example of CASES.filter(({ partials }) => Object.keys(partials).length === 0)) {
    if (example.name === 'loop-200') continue
    const theirs = inThisProcess(() => compileWithPackage(Handlebars, example.handlebars)({ variables: example.variables }))
    const sides: ReadonlyArray<readonly [name: string, work: () => unknown]> = [
      ['compile/handlebars', () => handlebarsLanguage.compile({ text: example.handlebars })],
      ['compile-and-render/handlebars', () => compileAndRender(example)],
      ['compile/go', () => goLanguage.compile({ text: example.go })],
      ['package-parser-alone', () => Handlebars.parse(example.handlebars)]
    ]
    for (const [name, work] of sides) {
      const result = await compare(inThisProcess(work), theirs)
      rows.push({ name: `${name}/${example.name}`, figure: 1 / result.speedup, unit: 'x', details: `of the package's compile and first render: ${times(result, 'the package')}` })
    }
  }
  return rows
}

function compileAndRender (example: Case): string {
  const template = handlebarsLanguage.compile({ text: example.handlebars })
  return renderOnce(template, template.references.map(() => undefined), example)
}
