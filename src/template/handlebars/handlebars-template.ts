import { type Frame, type PathNeed, type Reference, type Template, type UnreachablePart } from '../language.ts'
import { type Run } from '../run.ts'
import { type Inline, type LoopData, type Render, type Rendering, Scope } from './scope.ts'

/** A compiled Handlebars template. */
export class HandlebarsTemplate implements Template {
  readonly syntax = 'handlebars'
  readonly references: readonly Reference[]
  readonly paths: readonly PathNeed[]
  readonly unreachable: readonly UnreachablePart[]
  readonly #render: Render

  constructor ({ references, paths, unreachable }: Pick<Template, 'references' | 'paths'> & { readonly unreachable: readonly UnreachablePart[] }, render: Render) {
    this.references = references
    this.paths = paths
    this.unreachable = unreachable
    this.#render = render
  }

  render (run: Run, frame: Frame): string {
    return this.renderWithin(run, frame, undefined, undefined)
  }

  /**
   * Runs one pass over the template as a partial of another Handlebars template.
   * @param data the caller's `@` variables and `@partial-block`
   * @param inlines the inline partials in force at the call
   */
  renderWithin (run: Run, frame: Frame, data: LoopData | undefined, inlines: ReadonlyMap<string, Inline> | undefined): string {
    const { links, root, dot } = frame
    const rendering: Rendering = { run, links, root, dot, isPartial: dot !== root, inlines }
    return this.#render(new Scope(rendering, dot, undefined, data, undefined))
  }
}
