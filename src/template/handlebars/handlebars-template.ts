import { type Frame, type OpenTemplate, type PathNeed, type Reference, type Template, type UnreachablePart } from '../language.ts'
import { type Run } from '../run/run.ts'
import { type LoopData, type Render, type Rendering, Scope } from './compile/scope.ts'

/** A compiled Handlebars template. */
export class HandlebarsTemplate implements Template {
  readonly syntax = 'handlebars'
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly hasMorePaths: boolean
  readonly unreachable: readonly UnreachablePart[]
  readonly #render: Render

  constructor (
    { references, paths, hasMorePaths, unreachable }: Pick<HandlebarsTemplate, 'references' | 'paths' | 'hasMorePaths' | 'unreachable'>,
    render: Render
  ) {
    this.references = references
    this.paths = paths
    this.hasMorePaths = hasMorePaths
    this.unreachable = unreachable
    this.#render = render
  }

  open (run: Run, { links, root, partials }: Frame): OpenTemplate {
    return (dot, before = '') =>
      before + this.renderWithin({ run, links, root, dot, isPartial: dot !== root, inlines: undefined, partials, partial: run.within }, undefined)
  }

  /** Runs the template as a partial of another Handlebars template. @param data the `@` variables and the `@partial-block` of the calling template */
  renderWithin (rendering: Rendering, data: LoopData | undefined): string {
    return this.#render(new Scope(rendering, rendering.dot, undefined, data, undefined))
  }
}
