/** Where a skill (a SKILL.md) that is not registered is looked for: in the target's project, or in the home of a user on a remote machine. */
export type SkillSource = 'project' | 'remote'

/** The folders in which skills are searched, for each `SkillSource`. Of two skills with equal names, the one in the earlier folder counts. */
export const SKILL_FOLDERS: Readonly<Record<SkillSource, readonly string[]>> = {
  project: ['.kosmos-panel/skills', '.agents/skills', '.claude/skills'],
  remote: ['~/.config/kosmos-panel/skills']
}

export const SKILL_FILE = 'SKILL.md'

/** The pattern of a skill's name: its folder, which may be nested. It has no dots, so that `..` cannot lead to another place. */
const NAME = /^[\w-]{1,64}(?:\/[\w-]{1,64}){0,7}$/

/** The place of a skill's file on its target. */
export interface ForeignPlace {
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
export function placesOf (source: SkillSource, wanted: string): readonly ForeignPlace[] {
  const at = placeAt(source, wanted)
  if (at !== undefined) return [at]
  return NAME.test(wanted) ? SKILL_FOLDERS[source].map(folder => placeIn(source, folder, wanted)) : []
}

/** The place of a skill's file from its path; `undefined` for a path outside the folders of skills. */
export function placeAt (source: SkillSource, path: string): ForeignPlace | undefined {
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
