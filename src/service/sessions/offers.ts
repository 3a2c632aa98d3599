import { posix } from 'node:path'
import type { Caller } from '../../access/caller.ts'
import { mayRun, operatorFor, unknownTarget } from '../../access/rights.ts'
import { definitionNotUsable } from '../../base/errors.ts'
import type { OperatorFile, Target, Workspace } from '../../config/operator.ts'
import { type Executor, ExecutorError } from '../../exec/executor.ts'
import type { Executors } from '../../exec/executors.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import { describeDiagnostic, RejectedEntry } from '../../registry/diagnostic.ts'
import { type SkillDefinition, skillKind } from '../../registry/kinds/skill-kind.ts'
import { timeLimit } from '../../runtime/deadline.ts'

/**
 * What a caller can choose for a session: targets, workspaces, and skills that are files on targets. Such skills are read anew for each call,
 * and their bodies are never templates: who writes a project's files must not read the service's variables.
 */
export class Offers {
  readonly #operator: OperatorFile
  readonly #executors: Pick<Executors, 'ofTarget'>

  constructor (operator: OperatorFile, executors: Pick<Executors, 'ofTarget'>) {
    this.#operator = operator
    this.#executors = executors
  }

  targets (caller: Caller): readonly Target[] {
    return [...operatorFor(this.#operator, caller).targets.values()]
  }

  workspaces (caller: Caller): readonly Workspace[] {
    return [...operatorFor(this.#operator, caller).workspaces.values()]
  }

  /** Without `name`, the only target that has skills; an empty list if there are several. @throws TARGET_NOT_FOUND */
  async skills (caller: Caller, name?: string): Promise<ForeignSkillList> {
    const offered = operatorFor(this.#operator, caller)
    const target = placeOfSkills(offered, name)
    if (target !== undefined) return await this.list(target, caller)
    if (name === undefined) return { skills: [], problems: [] }
    throw unknownTarget(offered, name)
  }

  /** `wanted` is the folder of the skill, or the path of its file. @throws DEFINITION_NOT_FOUND with the reason for a file that is no skill */
  async skill (caller: Caller, target: string | undefined, source: SkillSource | undefined, wanted: string): Promise<SkillDefinition | undefined> {
    const place = placeOfSkills(operatorFor(this.#operator, caller), target)
    const from = source ?? (isForeignPath(wanted) ? sourceOfPath(wanted) : undefined)
    return place === undefined || from === undefined ? undefined : await this.find(place, from, wanted, caller)
  }

  /** The first of equal names counts; `undefined` also for one the caller may not run. @throws DEFINITION_NOT_FOUND with the reason */
  async find (target: Target, source: SkillSource, wanted: string, caller: Caller): Promise<SkillDefinition | undefined> {
    const executor = hasSkills(target) ? await this.#executors.ofTarget(target.name) : undefined
    const signal = timeLimit(undefined, TIMEOUT)
    for (const place of placesOf(source, wanted)) {
      const text = executor !== undefined && isFor(caller, place) ? await readListed(executor, place, signal).catch(() => undefined) : undefined
      if (text !== undefined) return usable(place, text)
    }
    return undefined
  }

  async list (target: Target, caller: Caller): Promise<ForeignSkillList> {
    if (!hasSkills(target)) return { skills: [], problems: [] }
    try {
      const executor = await this.#executors.ofTarget(target.name)
      return executor === undefined ? { skills: [], problems: [] } : await listWith(executor, target, caller)
    } catch (error) {
      if (!(error instanceof ExecutorError)) throw error
      // The error names the machine, which only callers with the role `approve` may know.
      const reason = caller.roles.has('approve') ? error.message : `target "${target.name}" cannot be reached`
      return { skills: [], problems: [{ target: target.name, reason }] }
    }
  }
}

/** In bytes. */
const MAX_SIZE = 256 * 1024

/** Of one target; further skills are left out. */
const MAX_SKILLS = 200

/** Of one target, in UTF-16 units, after which no further skill is read. */
const MAX_ALL = 4 * 1024 * 1024

/** For the answer of a target, in ms. */
const TIMEOUT = 5000

const UNREADABLE = `it cannot be read: expected a file in UTF-8 of at most ${MAX_SIZE} bytes, and no link`

const MISNAMED = 'expected a folder of its own, named with letters from A to Z, digits, _ and -, at most 64 of them'

/** At a time: OpenSSH allows 10 sessions a connection, and commands need some of them. */
const READS = 4

/** They were written for the older protocol, in which the model answers in plain text. `timeout` is in seconds. */
const AS_OF_OLD = { protocol: 'text', timeout: 30 } as const

export interface ForeignSkill {
  readonly target: string
  readonly place: ForeignPlace
  readonly skill: SkillDefinition
}

interface ForeignProblem {
  readonly target: string
  readonly path?: string
  readonly source?: SkillSource
  readonly reason: string
}

export interface ForeignSkillList {
  readonly skills: readonly ForeignSkill[]
  readonly problems: readonly ForeignProblem[]
}

export function hasSkills (target: Target): boolean {
  return target.type === 'local' ? target.workspace.hasSkills : target.hasSkills
}

export function placeOfSkills ({ targets }: Pick<OperatorFile, 'targets'>, name: string | undefined): Target | undefined {
  if (name !== undefined) return targets.get(name)
  const all = [...targets.values()].filter(hasSkills)
  return all.length === 1 ? all[0] : undefined
}

/** Behind no link, and by this very name. */
async function readListed (executor: Executor, { path }: ForeignPlace, signal: AbortSignal): Promise<string | undefined> {
  const { paths } = await executor.findFiles(posix.dirname(path), SKILL_FILE, signal)
  return paths.includes(path) ? await executor.readText(path, MAX_SIZE, signal) : undefined
}

async function listWith (executor: Executor, target: Target, caller: Caller): Promise<ForeignSkillList> {
  const signal = timeLimit(undefined, TIMEOUT)
  const sources = target.type === 'local' ? ['project'] as const : ['project', 'remote'] as const
  const places: ForeignPlace[] = []
  const problems: ForeignProblem[] = []
  for (const source of sources) {
    for (const folder of SKILL_FOLDERS[source]) {
      const { paths, others: unfound, isWhole } = await executor.findFiles(folder, SKILL_FILE, signal)
      if (!isWhole) problems.push({ target: target.name, path: folder, source, reason: 'not all of its folders could be looked at' })
      places.push(...paths.flatMap(path => placeAt(source, path) ?? []).filter(place => isFor(caller, place)))
      const misnamed = paths.filter(path => placeAt(source, path) === undefined).map(path => ({ path, reason: MISNAMED }))
      const others = [...unfound, ...misnamed]
      const told = others.filter(({ path }) => isFor(caller, { source, name: path.slice(folder.length + 1).replace(/\/skill\.md$/i, '') }))
      problems.push(...told.slice(0, MAX_SKILLS).map(other => ({ target: target.name, source, ...other })))
      if (told.length > MAX_SKILLS) problems.push({ target: target.name, path: folder, source, reason: `${told.length - MAX_SKILLS} more are not offered` })
    }
  }
  const skills: ForeignSkill[] = []
  let length = 0
  const more = places.splice(MAX_SKILLS)
  for (let from = 0; from < places.length && !signal.aborted; from += READS) {
    if (length > MAX_ALL) more.push(...places.splice(from))
    const some = places.slice(from, from + READS)
    const texts = await Promise.all(some.map(({ path }) => executor.readText(path, MAX_SIZE, signal).catch(() => undefined)))
    for (const [index, place] of some.entries()) {
      const text = texts[index]
      length += text?.length ?? 0
      const skill = text === undefined ? new Error(UNREADABLE) : define(place, text)
      if (skill instanceof Error) problems.push({ target: target.name, path: place.path, source: place.source, reason: skill.message })
      else skills.push({ target: target.name, place, skill })
    }
  }
  if (more.length > 0) {
    problems.push({ target: target.name, reason: `${more.length} more are left out: at most ${MAX_SKILLS} are read, and ${MAX_ALL} characters` })
  }
  if (signal.aborted) problems.push({ target: target.name, reason: `not all of it could be read within ${TIMEOUT} ms` })
  return { skills, problems }
}

/** @throws DEFINITION_NOT_FOUND with the reason when the text is no skill */
function usable (place: ForeignPlace, text: string): SkillDefinition {
  const defined = define(place, text)
  if (!(defined instanceof RejectedEntry)) return defined
  throw definitionNotUsable('skill', place.name, place.path, defined.diagnostics.map(describeDiagnostic), defined.diagnostics.map(placed))
}

function define (place: ForeignPlace, text: string): SkillDefinition | RejectedEntry {
  try {
    const skill = skillKind.define(idOf(place), text, 'direct')
    return { ...skill, isTemplate: false, options: { ...skill.options, ...AS_OF_OLD } }
  } catch (error) {
    if (error instanceof RejectedEntry) return error
    throw error
  }
}

function idOf ({ source, name }: Pick<ForeignPlace, 'source' | 'name'>): string {
  return `${source}.${name.replaceAll('/', '.')}`
}

function isFor (caller: Caller, place: Pick<ForeignPlace, 'source' | 'name'>): boolean {
  return mayRun(skillKind.key, idOf(place), caller)
}

export type SkillSource = 'project' | 'remote'

/** Of two skills with equal names, the one in the earlier folder counts. */
const SKILL_FOLDERS: Readonly<Record<SkillSource, readonly string[]>> = {
  project: ['.kosmos-panel/skills', '.agents/skills', '.claude/skills'],
  remote: ['~/.config/kosmos-panel/skills']
}

const SKILL_FILE = 'SKILL.md'

/** A folder that may be nested, without dots, so that `..` cannot lead to another place. */
const NAME = /^[\w-]{1,64}(?:\/[\w-]{1,64}){0,7}$/

interface ForeignPlace {
  readonly source: SkillSource
  readonly name: string
  readonly path: string
}

/** `wanted` is the skill's folder, or the path of its file or folder; else there is no place. */
function placesOf (source: SkillSource, wanted: string): readonly ForeignPlace[] {
  const at = placeAt(source, wanted)
  if (at !== undefined) return [at]
  return NAME.test(wanted) ? SKILL_FOLDERS[source].map(folder => placeIn(source, folder, wanted)) : []
}

function placeAt (source: SkillSource, path: string): ForeignPlace | undefined {
  const plain = path.replace(/^\.?\//, '')
  const folder = SKILL_FOLDERS[source].find(each => plain.startsWith(`${each}/`))
  if (folder === undefined) return undefined
  const name = plain.slice(folder.length + 1).replace(new RegExp(`/${SKILL_FILE}$`), '')
  return NAME.test(name) ? placeIn(source, folder, name) : undefined
}

export function isForeignPath (path: string): boolean {
  return path.includes('/')
}

export function sourceOfPath (path: string): SkillSource {
  return path.startsWith('~') ? 'remote' : 'project'
}

function placeIn (source: SkillSource, folder: string, name: string): ForeignPlace {
  return { source, name, path: `${folder}/${name}/${SKILL_FILE}` }
}
