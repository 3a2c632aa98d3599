import { type Json, type JsonObject } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { listOf, objectOf } from '../json-members.ts'

/**
 * Lets a label mean a version.
 * @param version a number, `latest`, or shares
 * @returns the versions and labels from then on
 * @throws CliError
 */
export async function moveLabel (
  api: ApiClient,
  id: string,
  label: string,
  version: Json,
  note?: string,
  conditions: Readonly<Record<string, string>> = {}
): Promise<JsonObject> {
  const body = JSON.stringify({ version, ...(note === undefined ? {} : { note }) })
  return objectOf((await api.put(apiPath('api', 'prompts', id, 'labels', label), body, conditions)).json)
}

/** What a label means, in words: `7`, or `9 (5 %), 7 (95 %)`. */
export function wordsOf (target: Json | undefined): string {
  if (!Array.isArray(target)) return String(target)
  return listOf(target).map(objectOf).map(({ version, weight }) => `${String(version)} (${String(weight)} %)`).join(', ')
}
