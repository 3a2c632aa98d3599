import { posix } from 'node:path'
import type { Caller } from '../../access/caller.ts'
import { mayRun, operatorFor, unknownTarget } from '../../access/rights.ts'
import { definitionNotUsable } from '../../base/errors.ts'
import type { OperatorFile, Target, Workspace } from '../../config/operator.ts'
import { type Executor, ExecutorError } from '../../exec/executor.ts'
import type { Executors } from '../../exec/executors.ts'
import { placed } from '../../registry/diagnostic-table.ts'
import { inWords, RejectedEntry } from '../../registry/diagnostic.ts'
import { type SkillDefinition, skillKind } from '../../registry/kinds/skill-kind.ts'

/** What a caller can choose for a session: the targets (machines), the workspaces (folders), and the skills that are files on targets. */
export class Offers {
  readonly #operator: OperatorFile
  readonly #foreignSkills: Pick<ForeignSkills, 'find' | 'list'>

  constructor (operator: OperatorFile, foreignSkills: Pick<ForeignSkills, 'find' | 'list'>) {
    this.#operator = operator
    this.#foreignSkills = foreignSkills
  }

  targets (caller: Caller): readonly Target[] {
    return [...operatorFor(this.#operator, caller).targets.values()]
  }

  workspaces (caller: Caller): readonly Workspace[] {
    return [...operatorFor(this.#operator, caller).workspaces.values()]
  }

  /**
   * Lists the skills that are files on a target.
   * @param name the target. Without it, the only target that has skills is taken; if there are several, the list is empty
   * @throws TARGET_NOT_FOUND
   */
  async skills (caller: Caller, name?: string): Promise<ForeignSkillList> {
    const offered = operatorFor(this.#operator, caller)
    const target = placeOfSkills(offered, name)
    if (target !== undefined) return await this.#foreignSkills.list(target, caller)
    if (name === undefined) return { skills: [], problems: [] }
    throw unknownTarget(offered, name)
  }

  /**
   * Finds one skill that is a file on a target.
   * @param wanted the folder of the skill, or the path of its file
   * @returns `undefined` when there is no such skill
   * @throws DEFINITION_NOT_FOUND with the reason for a file that is no skill
   */
  async skill (caller: Caller, target: string | undefined, source: SkillSource | undefined, wanted: string): Promise<SkillDefinition | undefined> {
    const place = placeOfSkills(operatorFor(this.#operator, caller), target)
    const from = source ?? (isForeignPath(wanted) ? sourceOfPath(wanted) : undefined)
    return place === undefined || from === undefined ? undefined : await this.#foreignSkills.find(place, from, wanted, caller)
  }
}

/** The longest file that can be a skill, in bytes. */
const MAX_SIZE = 256 * 1024

/** The most skills of one target (a machine) that are read; further skills are left out. */
const MAX_SKILLS = 200

/** The length of all skills of one target together, in UTF-16 units, after which no further skill is read. */
const MAX_ALL = 4 * 1024 * 1024

/** The longest time that the service waits for the answer of a target (a machine), in ms. */
const TIMEOUT = 5000

const UNREADABLE = `it cannot be read: expected a file in UTF-8 of at most ${MAX_SIZE} bytes, and no link`

const MISNAMED = 'expected a folder of its own, named with letters from A to Z, digits, _ and -, at most 64 of them'

/** The most files that are read at a time. OpenSSH allows 10 sessions a connection, and commands need some of these sessions. */
const READS = 4

/**
 * The options of skills that are files on a target. Such skills were written for the older protocol, in which the model answers in plain text.
 * `timeout` is the longest time that a command runs, in seconds.
 */
const AS_OF_OLD = { protocol: 'text', timeout: 30 } as const

/** A skill that is a file on a target (a machine) rather than registered: in the target's project, or in the home of its user. */
export interface ForeignSkill {
  readonly target: string
  readonly place: ForeignPlace
  readonly skill: SkillDefinition
}

/** A file, folder or whole target whose skills cannot be used, and the reason. */
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

/**
 * The skills that are files on targets, on those targets where the operator allows it. Files are read anew for each call. Their bodies are
 * plain text, never templates: someone who can write files of a project must not read the service's variables by a template.
 */
export class ForeignSkills {
  readonly #executors: Pick<Executors, 'ofTarget'>

  constructor (executors: Pick<Executors, 'ofTarget'>) {
    this.#executors = executors
  }

  /**
   * Finds a skill on a target by its folder, or by the path of its file. Of skills with equal names, the first counts.
   * @returns `undefined` if there is no such skill, or if the caller is not allowed to run the skill
   * @throws DEFINITION_NOT_FOUND with the reason for a file that is no skill
   */
  async find (target: Target, source: SkillSource, wanted: string, caller: Caller): Promise<SkillDefinition | undefined> {
    const executor = hasSkills(target) ? await this.#executors.ofTarget(target.name) : undefined
    const signal = AbortSignal.timeout(TIMEOUT)
    for (const place of placesOf(source, wanted)) {
      const text = executor !== undefined && isFor(caller, place) ? await readListed(executor, place, signal).catch(() => undefined) : undefined
      if (text !== undefined) return usable(place, text)
    }
    return undefined
  }

  /** Lists all skills of a target, and the files there that cannot be used. */
  async list (target: Target, caller: Caller): Promise<ForeignSkillList> {
    if (!hasSkills(target)) return { skills: [], problems: [] }
    try {
      const executor = await this.#executors.ofTarget(target.name)
      return executor === undefined ? { skills: [], problems: [] } : await listWith(executor, target, caller)
    } catch (error) {
      if (!(error instanceof ExecutorError)) throw error
      // The error names the machine. Only callers with the role `approve` are allowed to know the machine's name.
      const reason = caller.roles.has('approve') ? error.message : `target "${target.name}" cannot be reached`
      return { skills: [], problems: [{ target: target.name, reason }] }
    }
  }
}

/** Whether the operator's file allows to run the skills that are files on a target. */
export function hasSkills (target: Target): boolean {
  return target.type === 'local' ? target.workspace.hasSkills : target.hasSkills
}

/** The target whose skills a caller means: the named one or, without a name, the only target that has skills; `undefined` if there is no such target. */
export function placeOfSkills ({ targets }: Pick<OperatorFile, 'targets'>, name: string | undefined): Target | undefined {
  if (name !== undefined) return targets.get(name)
  const all = [...targets.values()].filter(hasSkills)
  return all.length === 1 ? all[0] : undefined
}

/** Reads the file of a skill, if a list would find it: behind no link, and by this very name. */
async function readListed (executor: Executor, { path }: ForeignPlace, signal: AbortSignal): Promise<string | undefined> {
  const { paths } = await executor.findFiles(posix.dirname(path), SKILL_FILE, signal)
  return paths.includes(path) ? await executor.readText(path, MAX_SIZE, signal) : undefined
}

async function listWith (executor: Executor, target: Target, caller: Caller): Promise<ForeignSkillList> {
  const signal = AbortSignal.timeout(TIMEOUT)
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

/** Reads a skill from the text of its file. @throws DEFINITION_NOT_FOUND with the reason when the text is no skill */
function usable (place: ForeignPlace, text: string): SkillDefinition {
  const defined = define(place, text)
  if (!(defined instanceof RejectedEntry)) return defined
  throw definitionNotUsable('skill', place.name, place.path, defined.diagnostics.map(inWords), defined.diagnostics.map(placed))
}

/** Reads a skill from the text of its file; gives the reason if the text is no skill. */
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

/** Where a skill (a SKILL.md) that is not registered is looked for: in the target's project, or in the home of a user on a remote machine. */
export type SkillSource = 'project' | 'remote'

/** The folders in which skills are searched, for each `SkillSource`. Of two skills with equal names, the one in the earlier folder counts. */
const SKILL_FOLDERS: Readonly<Record<SkillSource, readonly string[]>> = {
  project: ['.kosmos-panel/skills', '.agents/skills', '.claude/skills'],
  remote: ['~/.config/kosmos-panel/skills']
}

const SKILL_FILE = 'SKILL.md'

/** The pattern of a skill's name: its folder, which may be nested. It has no dots, so that `..` cannot lead to another place. */
const NAME = /^[\w-]{1,64}(?:\/[\w-]{1,64}){0,7}$/

/** The place of a skill's file on its target. */
interface ForeignPlace {
  readonly source: SkillSource
  /** The folder of the skill below the folder of skills: `git/quick-commit`. */
  readonly name: string
  /** The path of the skill's file, relative to the project or the home. */
  readonly path: string
}

/**
 * The places at which a skill's file can be. @param wanted the skill's folder, or the path of its file or folder @returns no place for a
 * text that is none of these
 */
function placesOf (source: SkillSource, wanted: string): readonly ForeignPlace[] {
  const at = placeAt(source, wanted)
  if (at !== undefined) return [at]
  return NAME.test(wanted) ? SKILL_FOLDERS[source].map(folder => placeIn(source, folder, wanted)) : []
}

/** The place of a skill's file from its path; `undefined` for a path outside the folders of skills. */
function placeAt (source: SkillSource, path: string): ForeignPlace | undefined {
  const plain = path.replace(/^\.?\//, '')
  const folder = SKILL_FOLDERS[source].find(each => plain.startsWith(`${each}/`))
  if (folder === undefined) return undefined
  const name = plain.slice(folder.length + 1).replace(new RegExp(`/${SKILL_FILE}$`), '')
  return NAME.test(name) ? placeIn(source, folder, name) : undefined
}

/** Whether a skill is named by a path on a target, rather than by the id of a registered skill. */
export function isForeignPath (path: string): boolean {
  return path.includes('/')
}

/** Tells whether the path of a skill leads to a project (`project`) or to the home of a user (`remote`). */
export function sourceOfPath (path: string): SkillSource {
  return path.startsWith('~') ? 'remote' : 'project'
}

function placeIn (source: SkillSource, folder: string, name: string): ForeignPlace {
  return { source, name, path: `${folder}/${name}/${SKILL_FILE}` }
}
