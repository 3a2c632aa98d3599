import { type LinkedPartial, type OpenTemplate, type Template } from '../language.ts'
import { type Run } from './run.ts'
import { type LazyNode } from '../value.ts'

/** A partial as one run enters it. */
export interface EnteredPartial {
  readonly id: string
  readonly template: Template
  readonly write: OpenTemplate
  readonly links: LinkedPartial['links']
  /** The scope root inside it, made from `outer`. */
  readonly root: LazyNode
  readonly outer: LazyNode
  /** The partials that it has entered in its turn, by the slots of its own links. */
  readonly partials: Array<EnteredPartial | undefined>
}

/** Opens a partial for a run. @param outer the scope root of the template that calls it */
export function enterPartial (run: Run, link: LinkedPartial, outer: LazyNode): EnteredPartial {
  const { id, links } = link
  const template = link.template(run.trace !== undefined)
  const root = link.root(outer)
  const partials: EnteredPartial['partials'] = []
  // Written out: to add members to a copy of the frame takes V8 longer than to render a short partial.
  return { id, template, write: template.open(run, { links, root, partials }), links, root, outer, partials }
}
