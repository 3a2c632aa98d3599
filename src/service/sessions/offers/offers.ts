import { type Caller } from '../../../access/caller.ts'
import { operatorFor, unknownTarget } from '../../../access/operator-view.ts'
import { type OperatorFile, type Target, type Workspace } from '../../../config/operator.ts'
import { type SkillDefinition } from '../../../registry/kinds/skill/skill-kind.ts'
import { type ForeignSkillList, type ForeignSkills, placeOfSkills } from './foreign-skills.ts'
import { isForeignPath, type SkillSource, sourceOfPath } from './skill-places.ts'

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
