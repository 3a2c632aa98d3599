import type { Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons, wholeGeneration } from '../../access/views.ts'
import { isJsonObject, type Json } from '../../base/json.ts'
import type { Generation, Prompt, PromptRelease } from '../../registry/generation.ts'
import { isPromptPartial } from '../../registry/link/link-prompts.ts'
import { idsMeant, isPartial, readReference } from '../../registry/link/references.ts'
import { type EnvironNames, everyPath, firstSegment, isModule, overlaps } from '../../registry/needs/variable-paths.ts'
import { addTo, branch, linksOf, readersOf, type UsageIndex, usageOf } from '../../registry/needs/usage-index.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { toPath } from '../../store/store.ts'
import type { Link, LinkedPartial } from '../../template/language.ts'
import { missingEnviron } from '../choose-prompt.ts'
import { findPrompt } from '../choose-prompt.ts'
import { findTool } from '../try-tool.ts'

/** For a label of a prompt: its id is `review.short@production`. */
type ReleasedUser = User & Required<Pick<User, 'versions'>>

type SearchedPrompt = Pick<Prompt, 'id' | 'entry' | 'texts'> & Partial<Pick<Prompt, 'loopTools'>>

type Uses = (text: SearchedPrompt, links: readonly Link[]) => boolean

/** The labels and versions by which a text names the prompt in question; `undefined` for none. */
type PinsOf = (text: Pick<SearchedPrompt, 'entry'>) => readonly string[] | undefined

async function findReleasedUsers ({ releases }: Pick<Generation, 'releases'>, uses: Uses, pinsOf: PinsOf): Promise<readonly ReleasedUser[]> {
  const slices = createSlices()
  const found: ReleasedUser[] = []
  for (const release of releases.values()) {
    for (const label of release.labels.keys()) {
      const user = userOf(release, label, uses, pinsOf)
      if (user !== undefined) found.push(user)
    }
    if (slices.isDue()) await slices.pause()
  }
  return found
}

/** For a server of tools, each tool that it offers counts. */
function usesTool (id: string, isServer: boolean): Uses {
  const isMeant = (tool: string) => tool === id || (isServer && tool.startsWith(`${id}.`))
  return ({ entry, loopTools = [] }, links) => links.some(link => link.kind === 'tool' && isMeant(link.id)) ||
    (entry.chat.toolLoop?.tools !== undefined && loopTools.some(tool => isMeant(tool.id)))
}

function usesPrompt (id: string): Uses {
  return (_text, links) => links.some(link => link.kind === 'partial' && idOf(link) === id)
}

/** A member of the variable's value, or a value that contains the variable, counts too. */
function usesEnviron (id: string): Uses {
  const wanted = id.split('.')
  return text => [...everyPath(text)].some(({ need }) => overlaps(need.path.split('.'), wanted))
}

function pinsOfPrompt (id: string): PinsOf {
  return ({ entry }) => {
    const names = entry.compiled.texts.flatMap(({ references }) => references.filter(isPartial).map(({ name }) => readReference(name)))
    const pins = names.flatMap(name => name !== undefined && idsMeant(entry.id, name.id).includes(id) ? [name.label ?? String(name.version)] : [])
    return pins.length === 0 ? undefined : [...new Set(pins)].sort()
  }
}

function userOf ({ id, labels }: PromptRelease, label: string, uses: Uses, pinsOf: PinsOf): ReleasedUser | undefined {
  const versions: number[] = []
  const pins = new Set<string>()
  const through = new Set<string>()
  let direct = false
  for (const { version, prompt } of labels.get(label) ?? []) {
    const [own, ...partials] = textsOf(prompt)
    const isDirect = uses(own as SearchedPrompt, linksOf(own as SearchedPrompt))
    const users = partials.filter(text => uses(text, linksOf(text)))
    if (!isDirect && users.length === 0) continue
    direct ||= isDirect
    versions.push(version)
    for (const text of users) through.add(text.id)
    for (const pin of pinsOf(prompt) ?? []) pins.add(pin)
  }
  if (versions.length === 0) return undefined
  return { id: `${id}@${label}`, direct, through: [...through].sort(), versions, pins: pins.size === 0 ? undefined : [...pins].sort() }
}

function textsOf (prompt: Prompt): readonly SearchedPrompt[] {
  const texts = new Map<Prompt['entry'], SearchedPrompt>([[prompt.entry, prompt]])
  for (const text of texts.values()) {
    if (texts.size > MAX_LOOKED_AT) break
    for (const link of linksOf(text)) if (isPromptPartial(link) && !texts.has(link.prompt.entry)) texts.set(link.prompt.entry, link.prompt)
  }
  return [...texts.values()]
}

function idOf (link: LinkedPartial): string {
  return isPromptPartial(link) ? link.prompt.entry.id : link.id
}

/** The most partials that one result names, and the most that are searched to find these. */
const MAX_THROUGH = 20
const MAX_LOOKED_AT = 1000

/** A prompt, or a label of one (`review.short@production`), that uses the entry in question. */
interface User {
  readonly id: string
  readonly direct: boolean
  readonly through: readonly string[]
  readonly versions?: readonly number[]
  /** The labels and versions by which its own text names a prompt (`review.symbol@production`): without them it cannot be rendered. */
  readonly pins?: readonly string[] | undefined
}

export type UsedKind = 'environs' | 'tools' | 'prompts'

export type FindUsers = (request: {
  readonly generation: Generation
  readonly caller: Caller
  readonly used: UsedKind
  readonly id: string
  readonly after: string
  readonly limit: number
}) => Promise<readonly User[]>

export function createUserFinder (everyEnviron: VisibleEnvirons): FindUsers {
  return async function findUsers ({ generation, caller, used, id, after, limit }) {
    const environs = visibleEnvirons(everyEnviron, caller)
    const whole = wholeGeneration(generation)
    const index = await usageOf(whole)
    const path = toPath(id)
    const direct = directUsers(generation, index, used, path, environs)
    const all = [...await withIncluders(direct, index)].filter(user => generation.prompts.has(user))
    const pinsOf = used === 'prompts' ? pinsOfPrompt(path) : () => undefined
    const released = await findReleasedUsers(generation, usesOf(generation, used, path), pinsOf)
    const isUsed = all.length + released.length > 0
    if (used === 'environs' && !isUsed && !environs.has(path) && !environs.hasBelow(path)) throw missingEnviron(generation, id, environs.index)
    const labels = new Map(released.map(user => [user.id, user]))
    const page = [...all, ...labels.keys()].filter(user => user > after).sort().slice(0, limit)
    const users = await describe(page, whole, direct, labels, pinsOf)
    return users.map(user => ({ ...user, through: user.through.filter(id => generation.prompts.has(readReference(id)?.id ?? id)).slice(0, MAX_THROUGH) }))
  }
}

/** How many users `FindUsers` gives for each of these shared variables. */
export type CountEnvironUsers = (request: {
  readonly generation: Generation
  readonly caller: Caller
  readonly ids: readonly string[]
}) => Promise<ReadonlyMap<string, number>>

export function createEnvironUserCounter (everyEnviron: VisibleEnvirons): CountEnvironUsers {
  return async function countEnvironUsers ({ generation, caller, ids }) {
    const environs = visibleEnvirons(everyEnviron, caller)
    const index = await usageOf(wholeGeneration(generation))
    const released = { paths: await releasedPaths(generation) }
    const slices = createSlices()
    const counts = new Map<string, number>()
    for (const id of ids) {
      const users = await withIncluders(directUsers(generation, index, 'environs', id, environs), index)
      counts.set(id, [...users].filter(user => generation.prompts.has(user)).length + readersOf(released, id).size)
      if (slices.isDue()) await slices.pause()
    }
    return counts
  }
}

/** What the versions read that labels mean, by first segments as in `UsageIndex`; the users are `review.short@production`. */
async function releasedPaths ({ releases }: Pick<Generation, 'releases'>): Promise<UsageIndex['paths']> {
  const slices = createSlices()
  const paths = new Map<string, Map<string, Set<string>>>()
  for (const { id, labels } of releases.values()) {
    for (const [label, shares] of labels) {
      const texts = shares.flatMap(({ prompt }) => textsOf(prompt))
      for (const { need } of texts.flatMap(text => [...everyPath(text)])) addTo(branch(paths, firstSegment(need.path)), need.path, `${id}@${label}`)
    }
    if (slices.isDue()) await slices.pause()
  }
  return paths
}

/** @throws a 404 if it is not registered, STORE_UNAVAILABLE */
function directUsers (generation: Generation, index: UsageIndex, used: UsedKind, id: string, environs: EnvironNames): ReadonlySet<string> {
  if (used === 'environs') {
    const module = firstSegment(id)
    return isModule(module, environs) && environs.hides?.(module) !== true ? readersOf(index, id) : new Set()
  }
  if (used === 'prompts') return usersOfPrompt(index, findPrompt(generation, id).id)
  if (findTool(generation, id).callable !== undefined) return index.tools.get(id) ?? new Set()
  // A server of tools is used through the tools that it offers, whose ids begin with its own.
  return new Set([...index.tools].flatMap(([each, users]) => each.startsWith(`${id}.`) ? [...users] : []))
}

/** Also those that name a label or a version of it. */
function usersOfPrompt ({ prompts }: UsageIndex, id: string): ReadonlySet<string> {
  return new Set([...prompts].flatMap(([each, users]) => each === id || each.startsWith(`${id}@`) ? [...users] : []))
}

function usesOf (generation: Generation, used: UsedKind, id: string): Uses {
  if (used === 'environs') return usesEnviron(id)
  if (used === 'prompts') return usesPrompt(id)
  return usesTool(id, generation.tools.get(id)?.callable === undefined)
}

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
  labels: ReadonlyMap<string, ReleasedUser>,
  pinsOf: PinsOf
): Promise<User[]> {
  const slices = createSlices()
  const users: User[] = []
  for (const id of page) {
    const prompt = prompts.get(id)
    users.push(labels.get(id) ?? { id, direct: direct.has(id), through: partialsAmong(prompt, prompts, direct), pins: prompt && pinsOf(prompt) })
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

const MAX_MENTIONS = 200

/** Definitions with the id as a whole word in one of their texts; whether it is a name there, nobody knows. */
export async function findMentions ({ definitions, tools }: Pick<Generation, 'definitions' | 'tools'>, id: string) {
  const word = new RegExp(`(?<![\\p{L}\\p{N}_.-])${id.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}_])`, 'u')
  const slices = createSlices()
  const found: Array<{ kind: string, id: string }> = []
  const registered = [...tools.values()].filter(({ isRegistered }) => isRegistered).map(tool => ({ id: tool.id, source: tool.definition.registration }))
  for (const [kind, all] of [...definitions, ['tools', new Map(registered.map(tool => [tool.id, tool]))] as const]) {
    for (const definition of all.values()) {
      if (found.length < MAX_MENTIONS && textsIn(definition.source).some(text => word.test(text))) found.push({ kind, id: definition.id })
      if (slices.isDue()) await slices.pause()
    }
  }
  return found
}

function textsIn (value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : []
}
