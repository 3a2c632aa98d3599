import { type Json } from '../base/json.ts'
import { skillKind } from '../registry/kinds/skill-kind.ts'
import { definitionsOf } from '../registry/offered.ts'
import { openService } from './local-dialogues.ts'
import { type Output } from './output.ts'

/** In the form of `GET /api/skills`. @throws CliError */
export async function listLocalSkills (environment: Readonly<Record<string, string | undefined>>, output: Output): Promise<Json[]> {
  const write = (level: string) => (_fields: object, message: string): void => { void output.words(`${level} ${message}`) }
  const service = await openService(environment, { debug () {}, info () {}, warn: write('warning'), error: write('error') })
  try {
    const skills = [...definitionsOf(service.registry.generation, skillKind).values()]
    return skills.map(({ id, origin, description }) => ({ id, origin, description })).sort((a, b) => a.id < b.id ? -1 : 1)
  } finally {
    await service.close()
  }
}
