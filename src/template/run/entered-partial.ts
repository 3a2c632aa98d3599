import { type EnteredPartial, type LinkedPartial } from '../language.ts'
import { type LazyNode } from '../value.ts'
import { type Run } from './run.ts'

const entered = new WeakMap<Run, Map<LinkedPartial, EnteredPartial>>()

/**
 * Opens a partial for a run. That is done once while the outer root stays the same, since a loop enters a partial a thousand
 * times.
 * @param outer the scope root of the template that calls the partial
 */
export function enterPartial (run: Run, link: LinkedPartial, outer: LazyNode): EnteredPartial {
  const ofRun = entered.get(run) ?? new Map<LinkedPartial, EnteredPartial>()
  const known = ofRun.get(link)
  if (known !== undefined && known.outer === outer) return known
  const partial = open(run, link, outer)
  entered.set(run, ofRun.set(link, partial))
  return partial
}

function open (run: Run, link: LinkedPartial, outer: LazyNode): EnteredPartial {
  const { id, links } = link
  const template = link.template(run.trace !== undefined)
  const root = link.root(outer)
  const partials: EnteredPartial['partials'] = []
  // The members are written out: to add members to a copy of the frame takes V8 longer than to render a short partial.
  return { id, template, write: template.open(run, { links, root, partials }), links, root, outer, partials }
}
