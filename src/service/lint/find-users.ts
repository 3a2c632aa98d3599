import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { wholeGeneration } from '../../access/generation-view.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { type EnvironNames, firstSegment, isModule } from '../../registry/needs/path-owner.ts'
import { createSlices } from '../../runtime/slices.ts'
import { linksOf, readersOf, type UsageIndex, usageOf } from '../../registry/needs/usage-index.ts'
import { readReference } from '../../registry/link/prompt-reference.ts'
import { missingEnviron } from '../missing-entries.ts'
import { findPrompt } from '../render/render-prompt.ts'
import { findReleasedUsers, type ReleasedUser, type Uses, usesEnviron, usesPrompt, usesTool } from './find-released-users.ts'
import { findTool } from '../tools/try-tool.ts'
import { toPath } from '../../store/keys.ts'

/** The most partials (included prompts) that one result names, and the most that are searched to find these. */
const MAX_THROUGH = 20
const MAX_LOOKED_AT = 1000

/** A prompt, or a label of a prompt (`review.short@production`), that uses the entry in question: a shared variable, a tool or another prompt. */
export interface User {
  readonly id: string
  /** Whether the prompt's own text uses the wanted variable, tool or prompt, rather than only the text of a partial (an included prompt). */
  readonly direct: boolean
  /** The ids of the partials (prompts that are included, directly or not) whose own text uses the wanted variable, tool or prompt. */
  readonly through: readonly string[]
  /** For a label: those of its versions that use the wanted variable, tool or prompt. */
  readonly versions?: readonly number[]
}

/** The kinds of entries for which `FindUsers` finds the prompts that use them. */
export type Used = 'environs' | 'tools' | 'prompts'

/** A request for one page of the prompts that use an entry. */
export interface UsersRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly used: Used
  readonly id: string
  readonly after: string
  readonly limit: number
}

export type FindUsers = (request: UsersRequest) => Promise<readonly User[]>

/** Makes the function that finds the prompts, and the labels, that use a shared variable, a tool or a prompt. They are sorted by id. */
export function createUserFinder (everyEnviron: VisibleEnvirons): FindUsers {
  return async function findUsers ({ generation, caller, used, id, after, limit }) {
    const environs = visibleEnvirons(everyEnviron, caller)
    const whole = wholeGeneration(generation)
    const index = await usageOf(whole)
    const path = toPath(id)
    const direct = directUsers(generation, index, used, path, environs)
    const all = [...await withIncluders(direct, index)].filter(user => generation.prompts.has(user))
    const released = await findReleasedUsers(generation, usesOf(generation, used, path))
    const isUsed = all.length + released.length > 0
    if (used === 'environs' && !isUsed && !environs.has(path) && !environs.hasBelow(path)) throw missingEnviron(generation, id, environs.index)
    const labels = new Map(released.map(user => [user.id, user]))
    const page = [...all, ...labels.keys()].filter(user => user > after).sort().slice(0, limit)
    const users = await describe(page, whole, direct, labels)
    return users.map(user => ({ ...user, through: user.through.filter(id => generation.prompts.has(readReference(id)?.id ?? id)).slice(0, MAX_THROUGH) }))
  }
}

/** The ids of the prompts whose own text uses a shared variable, a prompt or a tool. @throws a 404 if it is not registered, STORE_UNAVAILABLE */
function directUsers (generation: Generation, index: UsageIndex, used: Used, id: string, environs: EnvironNames): ReadonlySet<string> {
  if (used === 'environs') {
    const module = firstSegment(id)
    return isModule(module, environs) && environs.hides?.(module) !== true ? readersOf(index, id) : new Set()
  }
  if (used === 'prompts') return index.prompts.get(findPrompt(generation, id).id) ?? new Set()
  if (findTool(generation, id).callable !== undefined) return index.tools.get(id) ?? new Set()
  // A server of tools is used through the tools that it offers, whose ids begin with its own.
  return new Set([...index.tools].flatMap(([each, users]) => each.startsWith(`${id}.`) ? [...users] : []))
}

/** Makes the test whether a prompt's text uses the shared variable, the prompt or the tool with this id. */
function usesOf (generation: Generation, used: Used, id: string): Uses {
  if (used === 'environs') return usesEnviron(id)
  if (used === 'prompts') return usesPrompt(id)
  return usesTool(id, generation.tools.get(id)?.callable === undefined)
}

/** The prompts in `direct`, and all prompts that include one of them, directly or not. */
async function withIncluders (direct: ReadonlySet<string>, { prompts }: UsageIndex): Promise<ReadonlySet<string>> {
  const slices = createSlices()
  const all = new Set(direct)
  for (const each of all) {
    for (const includer of prompts.get(each) ?? []) all.add(includer)
    if (slices.isDue()) await slices.pause()
  }
  return all
}

async function describe (
  page: readonly string[],
  { prompts }: Generation,
  direct: ReadonlySet<string>,
  labels: ReadonlyMap<string, ReleasedUser>
): Promise<User[]> {
  const slices = createSlices()
  const users: User[] = []
  for (const id of page) {
    users.push(labels.get(id) ?? { id, direct: direct.has(id), through: partialsAmong(prompts.get(id), prompts, direct) })
    if (slices.isDue()) await slices.pause()
  }
  return users
}

function partialsAmong (prompt: Prompt | undefined, prompts: ReadonlyMap<string, Prompt>, wanted: ReadonlySet<string>): string[] {
  const included = new Set<string>()
  const includes = (from: Prompt | undefined) => from === undefined ? [] : linksOf(from).filter(link => link.kind === 'partial')
  for (const { id } of includes(prompt)) included.add(id)
  for (const id of included) {
    if (included.size > MAX_LOOKED_AT) break
    for (const link of includes(prompts.get(id))) included.add(link.id)
  }
  return [...included].filter(id => wanted.has(id) && id !== prompt?.id).sort()
}
