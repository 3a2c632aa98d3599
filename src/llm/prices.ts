import { parse as parseYaml } from 'yaml'
import { describeViolations } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { BUILT_IN, Prices } from '../observe/prices.ts'
import { compileSchema } from '../schema/compile.ts'
import { type Static, Type } from '../schema/builder.ts'

const price = (description: string) => Type.Number({ minimum: 0, maximum: 1_000_000, description })

/** In USD for a million tokens, as providers publish them. */
const Price = Type.Object({
  input: price('Tokens of the request'),
  output: Type.Optional(price('Tokens of the answer; left out for embeddings: 0')),
  cached: Type.Optional(price('Tokens of the request that the provider had in its cache; left out: as `input`')),
  reasoning: Type.Optional(price('Tokens of the answer that nobody reads; left out: as `output`'))
}, { additionalProperties: false })

const PricesDocument = Type.Object({
  date: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'When the prices were looked up' }),
  models: Type.Record(Type.String({ minLength: 1, maxLength: 200 }), Price)
}, { additionalProperties: false })

/** Reads `PRICES_FILE`, JSON or YAML; its models come before the built-in ones, whose prices stay in force. @throws Error */
export function parsePrices (text: string): Prices {
  const document = parse(text)
  const violations = compileSchema(PricesDocument as unknown as Json).validate(document as Json, 'document')
  if (violations.length > 0) throw new Error(describeViolations(violations))
  const { date, models } = document as Static<typeof PricesDocument>
  return new Prices({ date, models: { ...BUILT_IN.models, ...models } })
}

function parse (text: string): unknown {
  try {
    return parseYaml(text)
  } catch (error) {
    throw new Error(`is neither JSON nor YAML: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}
