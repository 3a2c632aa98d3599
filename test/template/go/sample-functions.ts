import { type Builtin } from '../../../src/template/go/builtins/builtin.ts'
import { createBuiltins } from '../../../src/template/go/builtins/builtins.ts'
import { CallError } from '../../../src/template/go/compile/calls/call-error.ts'
import { Printer } from '../../../src/template/go/fmt/printer.ts'
import { compareTexts } from '../../../src/template/go/value/bytes.ts'
import { goFloat, GoFunction, type GoType, type GoValue, wrapInt } from '../../../src/template/go/value/go-value.ts'
import { floatOf } from '../../../src/template/go/value/kind.ts'

const printer = new Printer({ emptyNull: false, floatVerbsTakeIntegers: false }, () => {})
const print = createBuiltins('').get('print') as Builtin

const adder = new GoFunction('func(int, int) int', signature(['int', 'int']), add)

function signature (parameters: readonly GoType[], result: { isVariadic?: boolean, isBoxed?: boolean } = {}) {
  return { parameters, isVariadic: result.isVariadic ?? false, isBoxed: result.isBoxed ?? false }
}

function add ([left, right]: readonly GoValue[]): GoValue {
  return wrapInt(BigInt(left as number) + BigInt(right as number))
}

function fail (args: readonly GoValue[]): never {
  throw new CallError(args.length === 0 ? 'boom' : print.apply({ printer, now: () => new Date(0), charge: () => {} }, args) as string)
}

function panic (): never {
  throw new CallError('panicked')
}

const list = (args: readonly GoValue[]): GoValue => args.map(value => value ?? null)

/** The functions that the vectors were recorded with. */
export const SAMPLE_FUNCTIONS: ReadonlyMap<string, GoFunction> = new Map([
  ['upper', new GoFunction('func(string) string', signature(['string']), ([text]) => Buffer.from(text as string).toString().toUpperCase())],
  ['add', adder],
  ['fail', new GoFunction('func(...interface {}) (interface {}, error)', signature(['any'], { isVariadic: true, isBoxed: true }), fail)],
  ['obj', new GoFunction('func() map[string]interface {}', signature([]), () => ({ name: 'obj', n: 1, nested: { k: 'v' }, items: [1, 2, 3] }))],
  ['list', new GoFunction('func(...interface {}) []interface {}', signature(['any'], { isVariadic: true }), list)],
  ['nothing', new GoFunction('func() interface {}', signature([], { isBoxed: true }), () => null)],
  ['tool', new GoFunction('func(...interface {}) map[string]interface {}', signature(['any'], { isVariadic: true }), args => ({ args: list(args), count: args.length }))],
  ['my_tool_v2', new GoFunction('func(...interface {}) string', signature(['any'], { isVariadic: true }), args => `my_tool_v2(${args.length})`)],
  ['join', new GoFunction('func(string, []interface {}) string', signature(['string', 'list']), ([separator, items]) => ((items ?? []) as readonly GoValue[]).map(item => printer.text(item)).join(separator as string))],
  ['keys', new GoFunction('func(map[string]interface {}) []interface {}', signature(['map']), ([map]) => Object.keys((map ?? {}) as object).sort(compareTexts))],
  ['half', new GoFunction('func(float64) float64', signature(['float64']), ([value]) => goFloat(floatOf(value) / 2))],
  ['truth', new GoFunction('func(bool) bool', signature(['bool']), ([value]) => value)],
  ['adder', new GoFunction('func() func(int, int) int', signature([]), () => adder)],
  ['panics', new GoFunction('func() string', signature([]), panic)]
])
