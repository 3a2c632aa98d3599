import { printed } from '../../functions/arguments.ts'
import { type Position } from '../../position.ts'
import { type Run } from '../../run/run.ts'
import { PENDING, type Value } from '../../value.ts'
import { failAt } from './failure.ts'
import { type Evaluate, type Render } from './scope.ts'

/** Compiles the printing of a value: without escaping, objects and lists as JSON, null and nothing as the empty text. */
export function compilePrint (evaluate: Evaluate, at: Position): Render {
  return scope => {
    const value = evaluate(scope)
    if (typeof value === 'string') return value
    return typeof value === 'number' ? `${value}` : printOther(value, scope.rendering.run, at)
  }
}

function printOther (value: Value, run: Run, at: Position): string {
  const known = run.consume(value, at)
  if (known === PENDING) {
    run.unfinished = true
    return ''
  }
  try {
    return printed(known, run)
  } catch (error) {
    throw failAt(error, at)
  }
}
