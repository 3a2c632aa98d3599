import { type Needs } from '../api/preview.ts'
import { readParameters } from './declared.ts'

/** A field of a form, which asks for one variable of a prompt or one parameter of a tool. */
export interface Field {
  readonly name: string
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'json'
  readonly isRequired: boolean
  readonly values?: readonly unknown[]
  readonly standard?: unknown
  readonly description?: string
  /** Whether the value may need more than one line. */
  readonly isLong: boolean
}

/**
 * The fields of a form, the required ones first. There is one for each declared parameter (in any of the three forms in which parameters
 * can be declared), and one for each further variable that the templates use.
 */
export function fieldsOf (parameters: unknown, needed: Needs['variables'] | undefined): readonly Field[] {
  const declared = declaredFields(parameters)
  const names = new Set(declared.map(({ name }) => name))
  const others = (needed ?? []).flatMap(({ path, required }) => {
    const [, name] = /^variables\.([^.[]+)/.exec(path) ?? []
    return name === undefined || names.has(name)
      ? []
      : [{
        name,
        isRequired: required,
        type: path === `variables.${name}` ? 'string' : 'json',
        isLong: false
      } satisfies Field]
  })
  const all = [...declared, ...new Map(others.toReversed().map(field => [field.name, field])).values()]
  return all.sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
}

function declaredFields (parameters: unknown): readonly Field[] {
  return (readParameters(parameters) ?? []).flatMap(({ name, schema, isRequired }) => schema === undefined ? [] : [fieldOf(name, schema, isRequired)])
}

/** The field for a value of a parameter. */
export function fieldOf (name: string, schema: Readonly<Record<string, unknown>>, isRequired: boolean): Field {
  const { type, enum: values, default: standard, description, maxLength } = schema
  return {
    name,
    isRequired,
    type: type === 'number' || type === 'integer' || type === 'boolean' ? type : type === 'array' || type === 'object' ? 'json' : 'string',
    isLong: typeof maxLength !== 'number' || maxLength > 200,
    values: Array.isArray(values) ? values as unknown[] : undefined,
    standard,
    description: typeof description === 'string' ? description : undefined
  }
}
