import { isNode, LineCounter, parseDocument, type Document } from 'yaml'
import { describeViolations } from '../base/errors.ts'
import { type Json } from '../base/json.ts'
import { compilePublishedSchema } from './compile.ts'
import { fieldOf } from './explain.ts'

/**
 * Parses YAML or JSON, and validates it against a schema of this project. YAML aliases are followed up to the limit of the library.
 * @param schema the name of the schema's file in `jsonschema/`, without the ending
 * @param root the name of the whole value in messages: `rules` gives `line 2: rules[0].reply must be string`
 * @throws Error that names lines
 */
export function parseCheckedYaml (text: string, schema: string, root: string) {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [problem] = document.errors
  if (problem !== undefined) {
    throw new Error(
      `line ${lines.linePos(problem.pos[0]).line}: expected YAML, ${problem.message.split('\n', 1)[0]?.replace(/ at line .*$/, '') ?? ''}`
    )
  }
  const value = plainOf(document)
  const lineOf = (path: ReadonlyArray<string | number>): number => {
    const node = document.getIn(path, true)
    if (isNode(node) && node.range != null) return lines.linePos(node.range[0]).line
    return path.length === 0 ? 1 : lineOf(path.slice(0, -1))
  }
  // ajv reports each violation inside a "then", and also that the value violates "then" as a whole, which says nothing more and is dropped.
  const violations = compilePublishedSchema(schema).validate(value, root).filter(({ message }) => message !== 'must match "then" schema')
  if (violations.length > 0) {
    throw new Error(violations.map(violation => `line ${lineOf(fieldOf(violation))}: ${describeViolations([violation])}`).join('; '))
  }
  return { value, lineOf }
}

function plainOf (document: Document.Parsed): Json {
  try {
    return document.toJS() as Json
  } catch (error) {
    throw new Error(`expected YAML, ${(error as Error).message}`)
  }
}
