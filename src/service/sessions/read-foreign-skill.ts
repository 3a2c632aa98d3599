import { type Target } from '../../config/operator.ts'
import { type Executors } from '../../exec/executors.ts'
import { skillKind, type SkillDefinition } from '../../registry/kinds/skill/skill-kind.ts'

/** Where a SKILL.md is looked for that nobody has registered: in the project, or in the home of a remote machine. */
export type SkillSource = 'project' | 'remote'

/** The first that is there counts (S-44). */
const FOLDERS: Readonly<Record<SkillSource, readonly string[]>> = {
  project: ['./.kosmos-panel/skills', './.agents/skills', './.claude/skills'],
  remote: ['~/.config/kosmos-panel/skills']
}

/** Folders may be nested; without dots no name leads elsewhere. */
const NAME = /^[\w-]{1,64}(?:\/[\w-]{1,64}){0,7}$/

/** Longer ones are none, in bytes. */
const MAX_SIZE = 256 * 1024

/** How long a SKILL.md is waited for, in ms (S-03). */
const TIMEOUT = 5000

/** Reads a skill of a target; `undefined` for none, and on a target whose skills the operator does not offer. */
export type ReadForeignSkill = (target: Target, source: SkillSource, name: string) => Promise<SkillDefinition | undefined>

/** Reads skills at every start, as they are by then. Their bodies are text, whatever they say: whoever wrote them renders nothing here. */
export function foreignSkillReader (executors: Pick<Executors, 'ofTarget'>): ReadForeignSkill {
  return async function readForeignSkill (target, source, name) {
    const isOffered = target.type === 'local' ? target.workspace.hasSkills : target.hasSkills
    if (!isOffered || !NAME.test(name)) return undefined
    const executor = await executors.ofTarget(target.name)
    const signal = AbortSignal.timeout(TIMEOUT)
    for (const folder of FOLDERS[source]) {
      const text = await executor?.readText(`${folder}/${name}/SKILL.md`, MAX_SIZE, signal).catch(() => undefined)
      if (text !== undefined) return { ...skillKind.define(`${source}.${name.replaceAll('/', '.')}`, text, 'direct'), isTemplate: false }
    }
    return undefined
  }
}
