import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { compareTexts } from '../../../src/template/go/bytes.ts'
import { goInt } from '../../../src/template/go/go-value.ts'
import { type TestTool } from './workbench.ts'

const isInteger = (value: Json | undefined): value is number | bigint => typeof value === 'bigint' || Number.isInteger(value)
const isText = (value: Json | undefined): value is string => typeof value === 'string'

/** The functions that the vectors were recorded with (oracle/main.go), as tools. A tool that Go's types would refuse fails. */
export const SAMPLE_TOOLS: Readonly<Record<string, TestTool>> = {
  upper: text => isText(text) ? text.toUpperCase() : undefined,
  add: (left, right) => isInteger(left) && isInteger(right) ? goInt(BigInt.asIntN(64, BigInt(left) + BigInt(right))) : undefined,
  half: value => typeof value === 'number' ? value / 2 : undefined,
  truth: value => typeof value === 'boolean' ? value : undefined,
  join: (separator, items) => isText(separator) && Array.isArray(items) ? items.map(shown).join(separator) : undefined,
  keys: map => typeof map === 'object' && map !== null && !Array.isArray(map) ? Object.keys(map).sort(compareTexts) : undefined,
  list: (...values) => values,
  obj: () => ({ name: 'obj', n: 1, nested: { k: 'v' }, items: [1, 2, 3] }),
  tool: (...values) => ({ args: values, count: values.length }),
  my_tool_v2: (...values) => `my_tool_v2(${values.length})`,
  nothing: () => null,
  fail: () => undefined,
  panics: () => undefined,
  // A tool gives no function.
  adder: () => undefined
}

/** What Go's `fmt.Sprint` makes of the members of the vectors' lists. */
function shown (value: Json): string {
  return value === null ? '<nil>' : String(value as Exclude<Json, JsonObject | readonly Json[] | null>)
}
