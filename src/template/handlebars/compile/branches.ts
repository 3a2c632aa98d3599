import { type Program } from '../syntax/ast.ts'
import { type Environment } from './environment.ts'
import { type Render, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

const nothing: Render = () => ''

/** The body of a block that keeps its context. */
export function compileSame (program: Program | undefined, environment: Environment): Render {
  if (program === undefined) return nothing
  return environment.collection.compilers.sequence(program, { ...environment, depth: environment.depth + 1 }, environment, scope => scope).render
}

/** The body of a block whose context is a value, which its first parameter is too. */
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

/** Leaves out a block whose value is pending: neither its body nor its else. */
export function skip (scope: Scope): string {
  scope.rendering.run.unfinished = true
  return ''
}
