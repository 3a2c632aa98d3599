import { type EnteredPartial, type LinkedPartial } from '../language.ts'
import { type LazyNode } from '../value.ts'
import { type Run } from './run.ts'

const entered = new WeakMap<Run, Map<LinkedPartial, EnteredPartial>>()

/**
 * Prepares a partial (a prompt that another one includes) for a run, so that it can be written. That is done once while the outer scope root stays the
 * same, because a loop can call a partial a thousand times.
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
  // The members are written out, because adding members to a copy of the frame would take V8 longer than rendering a short partial.
  return { id, template, write: template.open(run, { links, root, partials }), links, root, outer, partials }
}
