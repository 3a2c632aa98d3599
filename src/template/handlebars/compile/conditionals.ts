import { PENDING } from '../../value.ts'
import { type Block, type Expression, type Hash } from '../syntax/ast.ts'
import { checkArity } from './arguments.ts'
import { compileSame, skip } from './branches.ts'
import { compileExpression } from './calls.ts'
import { syntaxError, type Environment } from './environment.ts'
import { type Evaluate, type Render, type Scope } from './scope.ts'
import { UNTRACED } from './tracing.ts'
import { isTrue } from './truth.ts'

/** Compiles the block `if`, or the block `unless`, which is an `if` with its branches exchanged. */
export function compileConditional (block: Block, environment: Environment, wanted: boolean): Render {
  const name = wanted ? 'if' : 'unless'
  const { hash, ...unnamed } = block
  checkArity(name, unnamed, 1, 1)
  for (const program of [block.program, block.inverse]) {
    if ((program?.blockParams?.length ?? 0) > 0) throw syntaxError(`"${name}" has no block parameters`, block)
  }
  const untraced = { ...environment, tracing: UNTRACED }
  const condition = compileExpression(block.params[0] as Expression, untraced, 'tested').evaluate
  const includesZero = compileIncludeZero(name, hash, untraced)
  const body = compileSame(wanted ? block.program : block.inverse, environment)
  const otherwise = compileSame(wanted ? block.inverse : block.program, environment)
  const test = includesZero === undefined ? (scope: Scope) => isTrue(condition(scope)) : testWithZero(condition, includesZero)
  return scope => {
    const truth = test(scope)
    if (truth === PENDING) return skip(scope)
    return truth === true ? body(scope) : otherwise(scope)
  }
}

function compileIncludeZero (name: string, hash: Hash | undefined, environment: Environment): Evaluate | undefined {
  if (hash === undefined) return undefined
  const other = hash.pairs.find(pair => pair.key !== 'includeZero')
  if (other !== undefined) throw syntaxError(`"${name}" takes no argument called "${other.key}"`, other)
  return compileExpression((hash.pairs[0] as Hash['pairs'][number]).value, environment, 'tested').evaluate
}

function testWithZero (condition: Evaluate, includesZero: Evaluate): (scope: Scope) => boolean | typeof PENDING {
  return scope => {
    const value = condition(scope)
    const included = isTrue(includesZero(scope))
    if (value === PENDING || included === PENDING) return PENDING
    return (included === true && (value === 0 || value === 0n)) || isTrue(value)
  }
}
