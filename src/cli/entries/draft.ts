import { type Json, stringifyJson } from '../../base/json.ts'
import { wholeSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { jsonToYaml } from '../../store/directory/json-to-yaml.ts'
import { objectOf } from '../json-members.ts'
import { type EntryKind } from './entry-kinds.ts'

/** An entry as people write it, and the end of its file's name. */
export interface Draft {
  readonly text: string
  readonly extension: '.yaml' | '.json' | '.md'
}

/** A value as people write it: a skill as a SKILL.md, all else in YAML, and in JSON what YAML would not give back. */
export function draftOf (kind: EntryKind, value: Json): Draft {
  if (kind.file !== undefined && typeof objectOf(value)['body'] === 'string') return { text: wholeSkillText('', objectOf(value)), extension: '.md' }
  const json = stringifyJson(value, 2)
  const yaml = jsonToYaml(json)
  return yaml === undefined ? { text: `${json}\n`, extension: '.json' } : { text: yaml, extension: '.yaml' }
}
