import { stringifyJson } from '../../base/json.ts'
import { NOTHING, type Value } from '../value.ts'
import { countArgument } from './arguments.ts'
import { measureJson } from './cost.ts'
import { type TemplateFunction } from './function.ts'

const json: TemplateFunction = {
  name: 'json',
  parameters: 'indent? value',
  summary: 'The value as JSON on one line, or with `indent` spaces (at most 10) a level; nothing is `null`.',
  example: {
    go: '{{ .variables.file | json }}',
    handlebars: '{{json variables.file}}',
    variables: { file: { name: 'a "b".go', size: 3 } },
    output: '{"name":"a \\"b\\".go","size":3}'
  },
  arity: { least: 1, most: 2 },
  apply: (args, context) => {
    const indent = args.length === 2 ? countArgument(args[0], 'indent', 10) : 0
    const value = args.at(-1) as Value
    if (value === NOTHING) return 'null'
    measureJson(value, indent, context)
    return stringifyJson(value, indent)
  }
}

/** The functions of templates that make JSON. */
export const JSON_FUNCTIONS: readonly TemplateFunction[] = [json]
