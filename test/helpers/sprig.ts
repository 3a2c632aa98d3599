import { stringify } from 'yaml'
import { FunctionError, type TemplateFunction } from '../../src/template/template-function.ts'
import { Printer } from '../../src/template/go/printer.ts'
import { type Value } from '../../src/template/value.ts'

const printer = new Printer(() => {})

type Apply = (...args: readonly Value[]) => Value

/** The functions of Helm that our chart uses, `include` and `default` apart: https://helm.sh/docs/chart_template_guide/function_list/ */
const FUNCTIONS: Readonly<Record<string, Apply>> = {
  contains: (part, text) => String(text).includes(String(part)),
  fail: message => { throw new FunctionError(String(message)) },
  hasKey: (map, key) => Object.hasOwn(map as object, String(key)),
  nindent: (width, text) => `\n${String(text).replace(/^/gm, ' '.repeat(Number(width)))}`,
  quote: value => JSON.stringify(printer.text(value ?? null)),
  replace: (old, replacement, text) => String(text).replaceAll(String(old), String(replacement)),
  toYaml: value => stringify(value).trimEnd(),
  trimSuffix: (suffix, text) => String(text).endsWith(String(suffix)) ? String(text).slice(0, -String(suffix).length) : String(text),
  trunc: (length, text) => String(text).slice(0, Number(length))
}

/** Those functions, as the engine knows functions. */
export const SPRIG: readonly TemplateFunction[] = Object.entries(FUNCTIONS).map(([name, apply]) => helmFunction(name, apply))

/** A function of any arguments. */
export function helmFunction (name: string, apply: Apply): TemplateFunction {
  return { name, parameters: '', summary: '', example: { go: '', handlebars: '', variables: {}, output: '' }, arity: { least: 0, most: Infinity }, apply: args => apply(...args) }
}
