import { type TextName } from '../../base/errors.ts'
import { type Position } from '../../template/position.ts'
import { type Link, type PathNeed, type Reference } from '../../template/language.ts'
import { type Prompt } from '../generation/generation.ts'
import { type EnvironNeed, type NeedPlace, type PromptLookup, type PromptNeeds, type ReferenceNeed } from './needs.ts'
import { NeedsWalk, type Visit } from './needs-walk.ts'
import { ownPaths } from './own-paths.ts'
import { toFunctionName } from '../link/link-problems.ts'
import { type EnvironNames, isPublished, type OwnedPath } from './path-owner.ts'
import { isOptional, isPartial } from '../link/references.ts'
import { VariableNeeds } from './variable-needs.ts'

/** Gathers what a prompt needs to be rendered (variables, shared variables, tools, partials): first for its own text, then partial by partial. */
export function collectNeeds (prompt: Prompt, prompts: PromptLookup, environs: EnvironNames): PromptNeeds {
  const walk = new NeedsWalk(prompt, prompts, environs)
  const variables = new VariableNeeds(prompt)
  const environNeeds = new Map<string, EnvironNeed>()
  const caller = new Map<string, PromptNeeds['caller'][number]>()
  const references: { tools: ReferenceNeed[], partials: Array<ReferenceNeed & NeedPlace> } = { tools: [], partials: [] }
  const listed = new Set<Prompt['entry']>()
  let hasMorePaths = false

  for (const visit of walk.visits()) {
    for (const { need, where } of ownPaths(visit.prompt, environs)) {
      const owned = need.path === '' ? wholeOf(visit) : walk.resolve(visit, need.path)
      if (owned === undefined) continue
      const place = placeOf(visit, where, need)
      if (owned.owner === 'variables') variables.add(owned.path, need.use, visit, place)
      else if (owned.owner === 'caller') remember(caller, owned, need, place)
      else remember(environNeeds, owned, need, { ...place, registered: isPublished(owned.path, environs) })
    }
    if (listed.has(visit.prompt.entry)) continue
    listed.add(visit.prompt.entry)
    hasMorePaths ||= visit.prompt.entry.compiled.texts.some(text => text.hasMorePaths)
    addReferences(visit, references)
  }
  references.tools.push(...offeredTools(prompt))
  return {
    variables: variables.list(),
    environs: [...environNeeds.values()],
    caller: [...caller.values()],
    ...references,
    complete: walk.isComplete && !hasMorePaths
  }
}

/**
 * The path for a tag that uses all values at once, such as `{{json .}}`: all variables, when the text's dot is the root. For any other dot it is
 * `undefined`, because the dot's path was listed as an argument where the partial is called.
 */
function wholeOf ({ dot }: Visit): OwnedPath | undefined {
  return dot?.path === '' ? { owner: 'variables', path: 'variables', isBare: false } : undefined
}

/**
 * Notes that a text reads a path. `rows` has one row for each path in each text, with the first place that reads the path. The row's `use` becomes
 * `used` when any place of the text uses the path.
 */
function remember<T extends NeedPlace> (rows: Map<string, T & { path: string, use: PathNeed['use'] }>, { path }: OwnedPath, { use }: PathNeed, rest: T): void {
  const key = `${path} ${rest.in ?? ''}`
  const known = rows.get(key)
  if (known === undefined) rows.set(key, { path, use, ...rest })
  else if (use === 'used') rows.set(key, { ...known, use })
}

function addReferences (visit: Visit, { tools, partials }: { tools: ReferenceNeed[], partials: Array<ReferenceNeed & NeedPlace> }): void {
  for (const [text, { where, references }] of visit.prompt.entry.compiled.texts.entries()) {
    for (const [index, reference] of references.entries()) {
      const link = visit.prompt.texts[text]?.links[index]
      if (link === undefined && (isOptional(reference) || visit.replaced.has(reference.name))) continue
      const list = isPartial(reference) ? partials : tools
      list.push(describe(reference, link, placeOf(visit, where, reference)))
    }
  }
}

/** The tools that a prompt names for its model. Tools in its templates and partials are listed apart. */
function offeredTools ({ entry, loopTools }: Prompt): ReferenceNeed[] {
  return (entry.chat.toolLoop?.tools ?? []).map(name => {
    const tool = loopTools.find(each => each.name === toFunctionName(name))
    return { name, ...(tool === undefined ? {} : { id: tool.id }), arguments: [] }
  })
}

function describe ({ name, arguments: written }: Reference, link: Link | undefined, place: NeedPlace): ReferenceNeed & NeedPlace {
  return { name, ...(link === undefined ? {} : { id: link.id }), arguments: written, ...place }
}

function placeOf ({ prompt, isTop }: Visit, where: TextName | undefined, { line, column }: Position): NeedPlace {
  return {
    line,
    column,
    ...where,
    ...(isTop ? {} : { in: prompt.id })
  }
}
