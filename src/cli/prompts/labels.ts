import { type Json, type JsonObject } from '../../base/json.ts'
import { type ApiClient, apiPath } from '../api-client.ts'
import { listOf, objectOf } from '../json-members.ts'

/**
 * Makes a label mean a version of a prompt.
 * @param version a number, `latest`, or a list of versions with weights, between which requests are divided
 * @returns the prompt's versions and labels after the move
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

/** The version that a label means, in words: `7`, or `9 (5 %), 7 (95 %)` if requests are divided between two versions. */
export function wordsOf (target: Json | undefined): string {
  if (!Array.isArray(target)) return String(target)
  return listOf(target).map(objectOf).map(({ version, weight }) => `${String(version)} (${String(weight)} %)`).join(', ')
}
