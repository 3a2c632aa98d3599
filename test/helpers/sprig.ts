import { stringify } from 'yaml'
import { CallError } from '../../src/template/go/compile/calls/call-error.ts'
import { Printer } from '../../src/template/go/fmt/printer.ts'
import { GoFunction, type GoValue } from '../../src/template/go/value/go-value.ts'
import { truthOf } from '../../src/template/go/value/truth.ts'

const printer = new Printer({ emptyNull: false, floatVerbsTakeIntegers: false }, () => {})

type Apply = (...args: readonly GoValue[]) => GoValue

/** The functions of Helm that our chart uses, `include` apart: https://helm.sh/docs/chart_template_guide/function_list/ */
const FUNCTIONS: Readonly<Record<string, Apply>> = {
  contains: (part, text) => String(text).includes(String(part)),
  default: (fallback, value) => truthOf(value) ? value : fallback,
  fail: message => { throw new CallError(String(message)) },
  hasKey: (map, key) => Object.hasOwn(map as object, String(key)),
  nindent: (width, text) => `\n${String(text).replace(/^/gm, ' '.repeat(Number(width)))}`,
  quote: value => JSON.stringify(printer.text(value)),
  replace: (old, replacement, text) => String(text).replaceAll(String(old), String(replacement)),
  toYaml: value => stringify(value).trimEnd(),
  trimSuffix: (suffix, text) => String(text).endsWith(String(suffix)) ? String(text).slice(0, -String(suffix).length) : String(text),
  trunc: (length, text) => String(text).slice(0, Number(length))
}

/** Those functions, as the engine declares functions of Go. */
export const SPRIG: ReadonlyMap<string, GoFunction> = new Map(Object.entries(FUNCTIONS).map(([name, apply]) => [name, goFunction(apply)]))

/** A function of any arguments. */
export function goFunction (apply: Apply): GoFunction {
  return new GoFunction('func(...interface {}) interface {}', { parameters: ['any'], isVariadic: true, isBoxed: true }, args => apply(...args))
}
