/** Where the service looks for a SKILL.md that nobody has registered: in the project, or in the home of a remote machine. */
export type SkillSource = 'project' | 'remote'

/** The folders of skills of each source. Of two skills with equal names, the one in the earlier folder counts. */
export const SKILL_FOLDERS: Readonly<Record<SkillSource, readonly string[]>> = {
  project: ['.kosmos-panel/skills', '.agents/skills', '.claude/skills'],
  remote: ['~/.config/kosmos-panel/skills']
}

export const SKILL_FILE = 'SKILL.md'

/** The name of a skill: its folder, which may be nested. A name has no dots, so that it leads to no other place. */
const NAME = /^[\w-]{1,64}(?:\/[\w-]{1,64}){0,7}$/

/** Where a skill is on its target. */
export interface ForeignPlace {
  readonly source: SkillSource
  /** Its folder below the folder of skills: `git/quick-commit`. */
  readonly name: string
  /** Path of its file, relative to the project or the home. */
  readonly path: string
}

/** Where a skill may stand. @param wanted its folder, or the path of its file or folder @returns none for a text that is neither */
export function placesOf (source: SkillSource, wanted: string): readonly ForeignPlace[] {
  const at = placeAt(source, wanted)
  if (at !== undefined) return [at]
  return NAME.test(wanted) ? SKILL_FOLDERS[source].map(folder => placeIn(source, folder, wanted)) : []
}

/** The place that a path names; `undefined` for a path that is not below the folders of skills. */
export function placeAt (source: SkillSource, path: string): ForeignPlace | undefined {
  const plain = path.replace(/^\.?\//, '')
  const folder = SKILL_FOLDERS[source].find(each => plain.startsWith(`${each}/`))
  if (folder === undefined) return undefined
  const name = plain.slice(folder.length + 1).replace(new RegExp(`/${SKILL_FILE}$`), '')
  return NAME.test(name) ? placeIn(source, folder, name) : undefined
}

/** Whether a path of a skill is one of a target, rather than the id of a registered one. */
export function isForeignPath (path: string): boolean {
  return path.includes('/')
}

/** Where the path of a skill says that it is. */
export function sourceOfPath (path: string): SkillSource {
  return path.startsWith('~') ? 'remote' : 'project'
}

function placeIn (source: SkillSource, folder: string, name: string): ForeignPlace {
  return { source, name, path: `${folder}/${name}/${SKILL_FILE}` }
}
