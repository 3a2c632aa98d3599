import { type Program } from '../syntax/ast.ts'
import { type Environment } from './environment.ts'
import { type Render, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

const nothing: Render = () => ''

/** Compiles the body of a block that keeps the context. */
export function compileSame (program: Program | undefined, environment: Environment): Render {
  if (program === undefined) return nothing
  return environment.collection.compilers.sequence(program, { ...environment, depth: environment.depth + 1 }, environment, scope => scope).render
}

/** Compiles the body of a block that sets the context, such as `with` or `each`. @param value the context, which is the first block parameter, too */
export function compileInner (program: Program | undefined, environment: Environment, value: StaticPath): Render {
  if (program === undefined) return nothing
  const names = program.blockParams ?? []
  const inside: Environment = {
    ...environment,
    context: value,
    up: environment,
    params: names.length === 0 ? environment.params : { names, values: [value], outer: environment.params },
    depth: environment.depth + 1
  }
  const { render } = environment.collection.compilers.sequence(program, inside, environment, scope => scope.outer)
  return environment.tracing.inner(render)
}

/**
 * Skips a block whose value is not known yet: neither its body nor its else runs in this pass. A render runs its templates again until all values are
 * known.
 */
export function skip (scope: Scope): string {
  scope.rendering.run.unfinished = true
  return ''
}
