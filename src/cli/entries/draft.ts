import { type Json, stringifyJson } from '../../base/json.ts'
import { wholeSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { jsonToYaml } from '../../store/directory/json-to-yaml.ts'
import { objectOf } from '../json-members.ts'
import { type EntryKind } from './entry-kinds.ts'

/** The text of an entry as a person edits it, and the extension of the file that the person edits. */
export interface Draft {
  readonly text: string
  readonly extension: '.yaml' | '.json' | '.md'
}

/**
 * The text of an entry for the user's editor: SKILL.md for a skill, YAML for any other entry, or JSON for a value that would not be the
 * same after it was written and read as YAML.
 */
export function draftOf (kind: EntryKind, value: Json): Draft {
  if (kind.file !== undefined && typeof objectOf(value)['body'] === 'string') return { text: wholeSkillText('', objectOf(value)), extension: '.md' }
  const json = stringifyJson(value, 2)
  const yaml = jsonToYaml(json)
  return yaml === undefined ? { text: `${json}\n`, extension: '.json' } : { text: yaml, extension: '.yaml' }
}
